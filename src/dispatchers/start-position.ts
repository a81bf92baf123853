// Where a dispatcher begins to read a partition. Starting just anywhere would send again or skip, so without a position a person decides.

import type { Topic } from '../domain/topics.ts';
import { assertNever } from '../domain/assert-never.ts';
import type { CommittedPosition, EventLog } from '../ports/event-log.ts';

/** `--from`: the first event, only what comes from now on, or what was appended at or after this time (UTC ms). */
export type StartFrom = 'beginning' | 'end' | number;

/** The group has no position on a partition that has events, and nobody said where to begin. */
export class MissingPositionError extends Error {
  constructor(of: { group: string; topic: Topic; partition: number }) {
    super(
      `group ${of.group} has no position on ${of.topic}, partition ${of.partition}, which has events: ` +
        'to begin anywhere would send again or skip. Decide with --from beginning|end|TIME.',
    );
    this.name = 'MissingPositionError';
  }
}

/** @throws MissingPositionError; any other Error when the log can't be asked */
export async function startPosition(
  at: { group: string; topic: Topic; partition: number; committed: CommittedPosition | null },
  log: EventLog,
  from: StartFrom | undefined,
): Promise<CommittedPosition> {
  const { topic, partition, committed } = at;
  if (committed !== null) return committed;
  const end = (await log.ends(topic, [partition]))[partition] ?? 0;
  if (end === 0) return { offset: 0, metadata: '' };
  if (from === undefined) throw new MissingPositionError(at);
  return { offset: await offsetOf(from, at, end, log), metadata: '' };
}

async function offsetOf(
  from: StartFrom,
  at: { topic: Topic; partition: number },
  end: number,
  log: EventLog,
): Promise<number> {
  if (typeof from === 'number') return log.offsetAt(at.topic, at.partition, from);
  switch (from) {
    case 'beginning':
      return 0;
    case 'end':
      return end;
    default:
      return assertNever(from);
  }
}
