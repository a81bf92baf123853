// Fills a log with what the service would have appended: notifications that were accepted and delivered, or of which one in fifty failed, two events each.
// A process of its own, with the settings of the service in its environment; says to its parent what it appended.
//
// Directly through the log's port, since the folding is measured, not the accepting: the same bytes in the same topics and partition numbers, in seconds
// instead of minutes; their dispatchers are done with all of it. As they would come from a service that accepts a thousand a second and delivers each after a tenth of a second: an outcome is
// appended with the hundred requests that follow its own, once that is durable, so most pairs fall into one batch of the fold and some don't.

import { createClock } from '../src/adapters/node/clock.ts';
import { createLogger } from '../src/adapters/node/logger.ts';
import { createMetrics } from '../src/adapters/node/metrics.ts';
import { createCodec } from '../src/codec/index.ts';
import type {
  AttemptFailed,
  AttemptSucceeded,
  DomainEvent,
  FailureClass,
  NotificationRequested,
  Priority,
} from '../src/domain/events.ts';
import { channels } from '../src/domain/events.ts';
import type { EventId } from '../src/domain/ids.ts';
import type { TenantId } from '../src/domain/ids.ts';
import { eventIdFrom, notificationIdOf, uuidText } from '../src/domain/ids.ts';
import { partitionOf } from '../src/domain/topics.ts';
import { readConfig } from '../src/main/config.ts';
import { openLogAndViews } from '../src/main/engines.ts';
import { eventLogShape } from '../src/main/event-log-shape.ts';
import type { EventLog } from '../src/ports/event-log.ts';
import { notificationsReadModel } from '../src/projections/notifications/index.ts';
import { searchReadModel } from '../src/projections/search/index.ts';
import type { Filled, FillPlan } from './protocol.ts';

process.once('message', (plan: FillPlan) => {
  void fill(plan).then((filled) => {
    process.send?.(filled);
    process.disconnect();
  });
});

// Without its parent it has nothing to do.
process.on('disconnect', () => process.exit());

const acceptedPerSecond = 1000;
const deliveredAfterMs = 100;
const acceptedMeanwhile = (acceptedPerSecond * deliveredAfterMs) / 1000;
const recipientsPerTenant = 50;
const firstOrder = 10_000;
/** Told of, spread over all. */
const wordsMax = 1000;

const clock = createClock();

async function fill({ notifications, tenantIds, share }: FillPlan): Promise<Filled> {
  const { log, close } = await openLogAndViews({
    config: readConfig(),
    codec: createCodec(),
    clock,
    logger: createLogger({ level: 'warn' }),
    metrics: createMetrics({ processMetrics: false }),
    signal: new AbortController().signal,
  });
  const [first, ...others] = tenantIds as readonly TenantId[];
  if (first === undefined) throw new Error('there is no tenant to fill for');
  const begin = clock.now() - (notifications / acceptedPerSecond) * 1000;
  const had = new Map<TenantId, number>();
  const words: string[] = [];
  let inApp = 0;
  let answered = 0;
  let failed = 0;

  const append = async (events: readonly DomainEvent[]) => {
    const results = await Promise.all(events.map((event) => log.append(event)));
    const lost = results.find(({ kind }) => kind !== 'durable');
    if (lost !== undefined) throw new Error(`the log took not all of it: ${JSON.stringify(lost)}`);
  };

  const startedAt = clock.monotonic();
  let accepted: NotificationRequested[] = [];
  for (let from = 0; from < notifications; from += acceptedMeanwhile) {
    const count = Math.min(acceptedMeanwhile, notifications - from);
    const requests = Array.from({ length: count }, (_, i) => requested(from + i));
    inApp += requests.filter(({ channel }) => channel === 'IN_APP').length;
    await append([...requests, ...accepted.map(ended)]);
    accepted = requests;
  }
  await append(accepted.map(ended));
  await finishWork(log);
  const tookMs = clock.monotonic() - startedAt;
  await close();
  // The inbox looks at the requests of its own channel and at every success.
  return {
    tookMs,
    foldedEvents: {
      [notificationsReadModel.definition.name]: 2 * notifications,
      inbox_2: inApp + notifications - failed,
      [searchReadModel.definition.name]: notifications,
    },
    words: words.filter((_, nth) => nth % Math.ceil(words.length / wordsMax) === 0),
  };

  function ended(event: NotificationRequested): AttemptSucceeded | AttemptFailed {
    answered++;
    return answered % failedOneIn === 0 ? failedFor(event, failed++) : succeeded(event);
  }

  /** In turn; of ten the first tenant has nine, if it is to have so many. */
  function tenantOf(i: number): TenantId {
    const isFirsts = share === 'nine tenths' && i % 10 > 0;
    if (isFirsts || others.length === 0) return first as TenantId;
    return share === 'as all'
      ? (tenantIds[i % tenantIds.length] as TenantId)
      : (others[Math.floor(i / 10) % others.length] as TenantId);
  }

  /** The channels in turn for each tenant, a tenth HIGH, two tenths BULK. */
  function requested(i: number): NotificationRequested {
    const tenantId = tenantOf(i);
    const nth = had.get(tenantId) ?? 0;
    had.set(tenantId, nth + 1);
    if (tenantId === first) words.push(String(firstOrder + i));
    const channel = channels[nth % channels.length] ?? 'EMAIL';
    const recipient = `user-${nth % recipientsPerTenant}@example.com`;
    const notificationId = notificationIdOf(clock.uuidV7());
    const requestedAt = Math.round(begin + (i / acceptedPerSecond) * 1000);
    return {
      type: 'NotificationRequested',
      eventId: eventIdFrom('requested', notificationId),
      occurredAt: requestedAt,
      tenantId,
      traceparent: null,
      notificationId,
      requestedAt,
      channel,
      priority: priorityOf(nth % 10),
      recipient,
      round: 1,
      partition: partitionOf({ tenantId, channel, recipient, notificationId }, log.partitioning),
      request: requestOf(`A-${firstOrder + i}`),
    };
  }
}

/** The dispatchers' groups are done with all that the log has: a service that starts on it has nothing to send. */
async function finishWork(log: EventLog): Promise<void> {
  for (const { group, topics } of eventLogShape.groups) {
    const ends = new Map(await Promise.all(topics.map(async (topic) => [topic, await log.ends(topic)] as const)));
    const done = Promise.withResolvers<void>();
    const left = new Set(Array.from({ length: log.partitioning.partitions }, (_, partition) => partition));
    const consumer = await log.consume({
      group,
      topics,
      owned: ({ partition, commit }) => {
        const commits = topics.map((topic) => ({ topic, offset: ends.get(topic)?.[partition] ?? 0, metadata: '' }));
        commit(commits).then(() => {
          left.delete(partition);
          if (left.size === 0) done.resolve();
        }, done.reject);
      },
      lost: () => {},
    });
    await done.promise;
    await consumer.stop();
  }
}

function priorityOf(digit: number): Priority {
  if (digit === 0) return 'HIGH';
  return digit <= 2 ? 'BULK' : 'DEFAULT';
}

/** What the load process of the other parts sends, rendered. */
function requestOf(order: string): NotificationRequested['request'] {
  return {
    subject: `Order ${order} shipped`,
    body: `Hello Ada, your order ${order} left our warehouse today and will reach you in two days.`,
    bodyFormat: 'text',
    rawSubject: 'Order {{ order }} shipped',
    rawBody: 'Hello {{ name }}, your order {{ order }} left our warehouse today and will reach you in two days.',
    data: JSON.stringify({ name: 'Ada', order }),
    metadata: { source: 'bench' },
    template: null,
    sendAt: null,
    batchId: null,
    tracestate: null,
    baggage: null,
  };
}

type Ended = Omit<AttemptSucceeded, 'type' | 'messageId'>;

function outcomeOf(event: NotificationRequested): Ended {
  const { request: _request, eventId: causeId, occurredAt, ...envelope } = event;
  return {
    ...envelope,
    eventId: uuidText(clock.uuidV7()) as EventId,
    occurredAt: occurredAt + deliveredAfterMs,
    causeId,
    attempt: 1,
    provider: 'bench',
    waitedMs: deliveredAfterMs - 2,
    tookMs: 2,
  };
}

function succeeded(event: NotificationRequested): AttemptSucceeded {
  const hasId = event.channel === 'EMAIL' || event.channel === 'SMS';
  return { ...outcomeOf(event), type: 'AttemptSucceeded', messageId: hasId ? `m-${event.notificationId}` : null };
}

/** One in so many, of each cause in turn. */
const failedOneIn = 50;
const causes: readonly (readonly [FailureClass, string])[] = [
  ['recipient', '550'],
  ['network', 'ECONNREFUSED'],
  ['provider', '503'],
  ['credentials', '401'],
];

function failedFor(event: NotificationRequested, nth: number): AttemptFailed {
  const [failureClass, code] = causes[nth % causes.length] ?? ['system', 'NONE'];
  const why = { failureClass, code, message: 'It is not for this one.' };
  return { ...outcomeOf(event), type: 'AttemptFailed', ...why, firstAttempt: 1, retryAt: null, request: null };
}
