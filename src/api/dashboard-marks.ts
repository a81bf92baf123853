// How far a stream of the dashboard has told: for every topic and each of the tenant's partition numbers the offset to go on from, spelled out as its event ids.

import { badField } from '../domain/errors.ts';
import type { Topic } from '../domain/topics.ts';
import type { Position } from '../ports/event-log.ts';
import { recordTopics } from '../projections/notifications/index.ts';

const topics = recordTopics;
const slotOfTopic = new Map(topics.map((topic, i) => [topic, i]));

export interface DashboardMarks {
  /** The tenant's numbers, ascending. */
  readonly partitions: readonly number[];
  /** Of a stream that begins, until it was told what there was by then: where it is cut before, it begins from here once more. */
  readonly isNew: boolean;
  /** It was told all of that. */
  caughtUp(): void;
  offset(topic: Topic, partition: number): number;
  /** Goes on to behind the position; false when the marks are behind it already: it was told. */
  pass(position: Position): boolean;
  /**
   * An event's id: `3.0.1k.0~7.0.0.2f`, offsets in base 36 in the order of the read model's topics. At most 2 x 13 of them: 130 characters mostly. `03.0.1k.0~7.0.0.2f`
   * is new: the same numbers for whoever compares them, and for an older version.
   */
  readonly text: string;
}

/** Where one begins. */
export function marksAt(
  partitions: readonly number[],
  offsetOf: (topic: Topic, partition: number) => number,
): DashboardMarks {
  const offsets = partitions.map((partition) => topics.map((topic) => offsetOf(topic, partition)));
  const texts = offsets.map((ofPartition) => ofPartition.map((offset) => offset.toString(36)));
  let isNew = true;
  return {
    partitions,
    get isNew() {
      return isNew;
    },
    caughtUp() {
      isNew = false;
    },
    offset: (topic, partition) => offsets[partitions.indexOf(partition)]?.[slotOfTopic.get(topic) ?? -1] ?? 0,
    pass({ topic, partition, offset }) {
      const row = partitions.indexOf(partition);
      const [of, text] = [offsets[row], texts[row]];
      const slot = slotOfTopic.get(topic);
      if (of === undefined || text === undefined || slot === undefined || (of[slot] ?? 0) > offset) return false;
      of[slot] = offset + 1;
      text[slot] = (offset + 1).toString(36);
      return true;
    },
    get text() {
      const rows = partitions.map((partition, row) => `${partition}.${(texts[row] ?? []).join('.')}`);
      return `${isNew ? '0' : ''}${rows.join('~')}`;
    },
  };
}

/** `Last-Event-ID` of a stream; null when it is of other numbers or topics, so that nothing can be gone on from. @throws DomainError BAD_REQUEST */
export function parseDashboardMarks(text: string, partitions: readonly number[]): DashboardMarks | null {
  if (!marksPattern.test(text)) throw badField('last-event-id', 'must be an id of this stream');
  const rows = new Map(
    text.split('~').map((row) => {
      const [partition = '', ...offsets] = row.split('.');
      return [Number(partition), offsets.map((offset) => Number.parseInt(offset, 36))] as const;
    }),
  );
  const fits = rows.size === partitions.length && partitions.every((one) => rows.get(one)?.length === topics.length);
  if (!fits) return null;
  const marks = marksAt(partitions, (topic, one) => rows.get(one)?.[slotOfTopic.get(topic) ?? -1] ?? 0);
  if (!newPattern.test(text)) marks.caughtUp();
  return marks;
}

/** Ten digits of base 36 stay below 2^53. */
const marksPattern = /^0?\d{1,4}(?:\.[0-9a-z]{1,10}){1,100}(?:~\d{1,4}(?:\.[0-9a-z]{1,10}){1,100}){0,9}$/;

const newPattern = /^0\d/;
