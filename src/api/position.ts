// Positions on the wire: `x-event-position` out, `x-after-position` in, opaque text to the caller.

import { badField } from '../domain/errors.ts';
import { allTopics } from '../domain/topics.ts';
import type { Position } from '../ports/event-log.ts';

export const eventPositionHeader = 'x-event-position';
export const afterPositionHeader = 'x-after-position';

export function positionText({ topic, partition, offset }: Position): string {
  return `${topic}:${partition}:${offset}`;
}

/** @throws DomainError BAD_REQUEST */
export function parsePosition(text: string, partitions: number): Position {
  const match = /^([a-z.-]{1,64}):(\d{1,6}):(\d{1,15})$/.exec(text);
  const topic = match?.[1];
  const partition = Number(match?.[2]);
  if (topic === undefined || !allTopics.includes(topic) || partition >= partitions) {
    throw badField(afterPositionHeader, 'must be what an x-event-position header said');
  }
  return { topic, partition, offset: Number(match?.[3]) };
}
