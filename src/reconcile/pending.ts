// What a log says is still to be sent, and how a person who puts a copy of it to work ends that: what the original has sent since, the copy would send again.

import { heldCode } from '../domain/delivery-outcome.ts';
import type { AttemptFailed, DomainEvent, NotificationCancelled } from '../domain/events.ts';
import { isNotificationEvent } from '../domain/events.ts';
import { eventIdFrom } from '../domain/ids.ts';
import { murmur2 } from '../domain/murmur.ts';
import { deliveriesTopic, workTopics } from '../domain/topics.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import { inOrderOfTime } from '../projections/in-order-of-time.ts';
import { createLedger } from './ledger.ts';
import { nextOf } from './repair.ts';

/** send: they stay as they are. hold: each ends FAILED, and is sent once a person retries it. cancel: each ends CANCELLED. */
export const pendingChoices = ['send', 'hold', 'cancel'] as const;
export type PendingChoice = (typeof pendingChoices)[number];

interface Dependencies {
  readonly log: Pick<EventLog, 'read' | 'ends' | 'append' | 'partitioning'>;
  /** UTC ms. */
  readonly now: number;
}

const topics = [...workTopics, deliveriesTopic];
/** In memory at once, some 1 KiB each: a number that has more is read in several passes, each for a share of the ids. */
const openMax = 100_000;

/** How many there were. Interrupted, it may be done again: the events' ids follow from the notifications. @throws Error when the log can't be read or written */
export async function settlePending({ log, now }: Dependencies, choice: PendingChoice): Promise<number> {
  let count = 0;
  const ends = new Map(await Promise.all(topics.map(async (topic) => [topic, await log.ends(topic)] as const)));
  for (let partition = 0; partition < log.partitioning.partitions; partition++) {
    const to = new Map(topics.map((topic) => [topic, ends.get(topic)?.[partition] ?? 0]));
    const pendingOf = async (isOfShare: (id: string) => boolean): Promise<Position[] | null> => {
      const ledger = createLedger({ accepted: () => {}, ended: () => {}, reopened: () => {} });
      for await (const entry of inOrderOfTime(log, partition, { from: new Map(), to })) {
        const { event } = entry;
        if (event !== null && isNotificationEvent(event) && isOfShare(event.notificationId)) ledger.takeIn(entry);
        if (ledger.size > openMax) return null;
      }
      return [...ledger.open()].flatMap(({ waits }) => (waits === null ? [] : [waits.since]));
    };
    count += await inShares(async (isOfShare) => {
      const pending = await pendingOf(isOfShare);
      if (pending !== null && choice !== 'send') for (const since of pending) await end({ log, now }, since, choice);
      return pending?.length ?? null;
    });
  }
  return count;
}

/** One pass for all ids, or as many as it takes until none is too much (null); what a pass has ended, one of the next may end again. */
async function inShares(pass: (isOfShare: (id: string) => boolean) => Promise<number | null>): Promise<number> {
  for (let shares = 1; ; shares *= 2) {
    let count = 0;
    for (let share = 0; share < shares; share++) {
      const passed = await pass((id) => murmur2(id) % shares === share);
      if (passed === null) break;
      count += passed;
      if (share === shares - 1) return count;
    }
  }
}

async function end({ log, now }: Dependencies, since: Position, choice: 'hold' | 'cancel'): Promise<void> {
  const { topic, partition, offset } = since;
  for await (const { event } of log.read({ topic, partition, from: offset, to: offset + 1 })) {
    const last = event === null ? null : endOf(event, now, choice);
    if (last === null) break;
    const result = await log.append(last);
    if (result.kind !== 'durable') throw new Error(`${last.notificationId} was not ended: ${result.reason}`);
    return;
  }
  throw new Error(`${topic}, partition ${partition}: there is nothing that waits at offset ${offset}`);
}

function endOf(
  event: DomainEvent,
  now: number,
  choice: 'hold' | 'cancel',
): AttemptFailed | NotificationCancelled | null {
  const next = nextOf(event);
  if (next === null || !isNotificationEvent(event)) return null;
  const { tenantId, traceparent, notificationId, requestedAt, channel, priority, recipient, round, partition } = event;
  const of = { tenantId, traceparent, notificationId, requestedAt, channel, priority, recipient, round, partition };
  const envelope = {
    eventId: eventIdFrom('restored', notificationId, round),
    occurredAt: now,
    causeId: event.eventId,
    ...of,
  };
  if (choice === 'cancel') return { type: 'NotificationCancelled', ...envelope };
  const { attempt, firstAttempt } = next;
  return {
    type: 'AttemptFailed',
    ...envelope,
    attempt,
    firstAttempt,
    provider: 'none',
    failureClass: 'system',
    code: heldCode,
    message:
      'It was pending when the log was restored from a backup: look whether the original has sent it, else retry it.',
    waitedMs: 0,
    tookMs: 0,
    retryAt: null,
    request: null,
  };
}
