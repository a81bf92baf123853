// Says in the log what is forgotten, link by link: each waits until the one before is folded and counts. Killed in between nothing is half done: what was said
// is folded by whoever folds next, and what wasn't is found again.

import type { NotificationsForgotten } from '../domain/events.ts';
import { eventIdFrom } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { lastForgotten } from '../projections/notifications/forgetting.ts';
import { keptOf } from '../projections/notifications/kept-days.ts';
import type { Ended, Forgettable } from './remains.ts';

export interface ForgetDependencies {
  readonly log: Pick<EventLog, 'append'>;
  readonly reader: Pick<ReadModelReader, 'get'>;
  readonly clock: Clock;
}

/**
 * Of one event. Whoever folds it reads the records in it, as whole documents: 32 with bodies of 200 KiB are 13 MiB, and their ids 1 KiB, which stay as long as
 * the days that they count in.
 */
const notificationsMax = 32;
const lookEveryMs = 20;
/** Then the pass ends, and the next one tries again. */
const foldedWithinMs = 30_000;

/** Resolves once it is folded. @throws Error when the log doesn't take it, it isn't folded in time, or another process was faster */
export async function forget(
  deps: ForgetDependencies,
  { partition, signal }: { readonly partition: number; readonly signal: AbortSignal },
  forgettable: Forgettable,
): Promise<void> {
  const { tenantId, notifications, batchIds, endedDays } = forgettable;
  const ended = [...notifications];
  let rest: Pick<NotificationsForgotten, 'batchIds' | 'endedDays'> = {
    batchIds: [...batchIds],
    endedDays: [...endedDays].sort((a, b) => a - b),
  };
  do {
    const some = ended.splice(0, notificationsMax);
    const told = {
      tenantId,
      partition,
      notificationIds: some.map(([id]) => id),
      kept: keptOf(presentOf(some, 'record'), presentOf(some, 'report')),
      ...rest,
    };
    rest = { batchIds: [], endedDays: [] };
    await forgetSome(deps, signal, told);
  } while (ended.length > 0 && !signal.aborted);
}

function presentOf<K extends keyof Ended>(
  some: readonly (readonly [unknown, Ended])[],
  key: K,
): NonNullable<Ended[K]>[] {
  return some.flatMap(([, ended]) => ended[key] ?? []) as NonNullable<Ended[K]>[];
}

type Told = Omit<NotificationsForgotten, 'type' | 'eventId' | 'occurredAt' | 'traceparent' | 'sequence' | 'follows'>;

async function forgetSome({ log, reader, clock }: ForgetDependencies, signal: AbortSignal, told: Told): Promise<void> {
  const { partition } = told;
  const last = await lastForgotten(reader, partition);
  const sequence = (last?.sequence ?? 0) + 1;
  const parts = [...told.notificationIds, ...told.batchIds, ...told.endedDays];
  const eventId = eventIdFrom('forgotten', partition, sequence, ...parts);
  const follows = last?.eventId ?? null;
  const event = { ...told, eventId, occurredAt: clock.now(), traceparent: null, sequence, follows };
  const result = await log.append({ type: 'NotificationsForgotten', ...event });
  if (result.kind !== 'durable') throw new Error(`what is forgotten could not be said: ${result.reason}`);
  const since = clock.monotonic();
  for (;;) {
    const now = await lastForgotten(reader, partition);
    if (now?.eventId === eventId) return;
    if (now !== null && now.sequence >= sequence) throw new Error(`number ${partition} is another process's by now`);
    if (signal.aborted) return;
    if (clock.monotonic() - since > foldedWithinMs) throw new Error('what is forgotten is not folded');
    await clock.sleep(lookEveryMs, signal);
  }
}
