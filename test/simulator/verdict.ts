// What must hold of a world once nothing goes wrong any more: everything has come to its end, and everybody says the same of it.

import { keyOf } from '../../src/adapters/kafka/fetch-session.ts';
import { isNeverPassedOver } from '../../src/domain/erasure.ts';
import type { DeliveryDue, EventType } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { statusOf } from '../../src/domain/notification.ts';
import type { LogEntry } from '../../src/ports/event-log.ts';
import { workTopics } from '../../src/domain/topics.ts';
import type { NotificationDocument } from '../../src/projections/notifications/document.ts';
import { notificationsCollection } from '../../src/projections/notifications/document.ts';
import { causeOfKey } from '../../src/projections/notifications/failure-causes.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import type { StatisticsCell } from '../../src/projections/notifications/statistics-cells.ts';
import { countsIn, shareOfKey, statisticsCollection } from '../../src/projections/notifications/statistics-cells.ts';
import { resolutionMs } from '../../src/projections/notifications/resolutions.ts';
import type { DecodedEntry } from '../../src/projections/read-model.ts';
import { isDecoded } from '../../src/projections/read-model.ts';
import type { TimersDocument } from '../../src/projections/timers/document.ts';
import type { Folded } from '../projections/folded.ts';
import { documentsOf, folded } from '../projections/folded.ts';
import { asErased, erasuresWrongIn } from './erasure-verdict.ts';
import { fairnessOf } from './fairness.ts';
import { jobsWrongIn, openJobsIn } from './jobs.ts';
import { keysWrongIn, unansweredIn } from './keys.ts';
import { groupOf, projectedBy } from './node.ts';
import { remainsIn, retentionWrongIn } from './retention.ts';
import { keyOfNumber } from './store.ts';
import { labelOf } from './witness.ts';
import type { World } from './world.ts';

/** What hasn't come to its end, of the first kind of which there is something: it is stuck if it stays. */
export function unfinishedIn(world: World): string[] {
  const open = [...world.witness.open()].map(([id, status]) => `${id} is ${status}`);
  const first = [
    () => open,
    () => unansweredIn(world),
    () => openJobsIn(world),
    () => uncommittedIn(world),
    () => timersIn(world),
    () => unfoldedIn(world),
    () => remainsIn(world),
    () => rebuildingIn(world),
  ];
  for (const look of first) {
    const left = look();
    if (left.length > 0) return left;
  }
  return [];
}

function rebuildingIn({ stored }: World): string[] {
  return [...stored.versions].flatMap(([name, { next }]) =>
    next === null ? [] : [`${name} has a next version: ${JSON.stringify(next)}`],
  );
}

/** What is wrong with how everything has ended. */
export async function verdictOn(world: World): Promise<string[]> {
  return [
    ...lostIn(world),
    ...timersWrongIn(world),
    ...attemptsWrongIn(world),
    ...expiriesWrongIn(world),
    ...(await jobsWrongIn(world)),
    ...keysWrongIn(world),
    ...(await foldsWrongIn(world)),
    ...fairnessOf(world),
  ];
}

function uncommittedIn({ brokers, plan }: World): string[] {
  const { committed } = brokers.group(groupOf(plan));
  const wrong: string[] = [];
  for (const topic of workTopics) {
    for (let partition = 0; partition < plan.partitions; partition++) {
      const end = brokers.entries(topic, partition).length;
      const { offset = 0, metadata = '' } = committed.get(keyOf({ topic, partition })) ?? {};
      if (offset > end) wrong.push(`${topic}/${partition} is committed to ${offset}, beyond its end ${end}`);
      if (offset < end) wrong.push(`${topic}/${partition} is committed to ${offset} of ${end} (${metadata})`);
    }
  }
  return wrong;
}

function timersIn({ stored }: World): string[] {
  return [...(stored.collections.get('timers') ?? [])].flatMap(([id, { row }]) => {
    const { timers } = row as unknown as TimersDocument;
    return Object.values(timers).map(
      ({ state, round, attempt }) => `a timer of ${id} (${round}#${attempt}) is ${state}`,
    );
  });
}

export function unfoldedIn({ brokers, plan, stored, witness }: World): string[] {
  const wrong: string[] = [];
  for (const { definition, topics, types } of projectedBy(plan)) {
    for (const topic of topics) {
      for (let partition = 0; partition < plan.partitions; partition++) {
        const end = endOfWanted(brokers.entries(topic, partition), types, witness.erasures.tenants);
        const at = stored.positions.get(keyOfNumber(definition.name, partition))?.offsets.get(topic) ?? 0;
        if (at < end) wrong.push(`${definition.name} has ${at} of ${end} of ${topic}/${partition}`);
      }
    }
  }
  return wrong;
}

/** What is passed over is noted with whatever is folded next. */
function endOfWanted(
  entries: readonly LogEntry[],
  types: ReadonlySet<EventType> | undefined,
  erased: ReadonlyMap<TenantId, number>,
): number {
  const isWanted = ({ event }: LogEntry): boolean =>
    event !== null &&
    (types === undefined || types.has(event.type)) &&
    (!erased.has(event.tenantId) || isNeverPassedOver(event.type));
  return entries.findLastIndex(isWanted) + 1;
}

function lostIn({ witness, brokers }: World): string[] {
  const ids = new Set(
    brokers.all.flatMap(({ event }) => (event?.type === 'NotificationRequested' ? [event.notificationId] : [])),
  );
  return [...ids].flatMap((id) => {
    const facts = witness.facts(id);
    const isDelivered = facts !== undefined && statusOf(facts) === 'DELIVERED';
    return isDelivered && !witness.arrivals.has(id) ? [`${id} is DELIVERED, and nobody has received it`] : [];
  });
}

function timersWrongIn({ brokers, plan }: World): string[] {
  const dues = new Map<string, DeliveryDue>();
  const setters = new Set<string>();
  const deferred = new Set<string>();
  for (const { event } of brokers.all) if (event?.type === 'DeliveryDeferred') deferred.add(event.causeId);
  const wrong: string[] = [];
  for (const { event } of brokers.all) {
    if (event?.type !== 'DeliveryDue') continue;
    const { notificationId, round, attempt, dueAt, occurredAt, eventId, causeId } = event;
    setters.add(causeId);
    // A delay that was set by a clock that was ahead ends by the one that never went back.
    if (plan.clocksMs === 0 && occurredAt < dueAt)
      wrong.push(`${labelOf(event)} was said ${dueAt - occurredAt} ms too early`);
    const key = `${notificationId} ${round} ${attempt}`;
    const other = dues.get(key);
    if (other !== undefined && other.eventId !== eventId && !deferred.has(eventId))
      wrong.push(`${labelOf(event)} and ${labelOf(other)} are due both`);
    // What was put off comes back as itself.
    if (!deferred.has(eventId)) dues.set(key, event);
  }
  for (const { event } of brokers.all) {
    if (event?.type === 'NotificationCancelled' && setters.has(event.causeId))
      wrong.push(`${labelOf(event)}: the timer was fired and cancelled`);
  }
  return wrong;
}

/** What was said to be too late was. */
function expiriesWrongIn({ brokers, plan, witness }: World): string[] {
  if (plan.clocksMs > 0) return [];
  return brokers.all.flatMap(({ event }) => {
    if (event?.type !== 'AttemptFailed' || event.failureClass !== 'expired') return [];
    const { expiresAt = null } = witness.facts(event.notificationId)?.request ?? {};
    return expiresAt !== null && event.occurredAt >= expiresAt ? [] : [`${labelOf(event)} expires before its time`];
  });
}

function attemptsWrongIn({ brokers, plan }: World): string[] {
  const most = plan.retryDelaysMs.length + 1;
  return brokers.all.flatMap(({ event }) =>
    event?.type === 'AttemptFailed' && event.attempt - event.firstAttempt + 1 > most
      ? [`${labelOf(event)} is more than the ${most} attempts of a round`]
      : [],
  );
}

/** The records follow from the log, whatever the order in which its topics were read, how it was cut into batches and what was told twice; so do the statistics from the records. */
async function foldsWrongIn(world: World): Promise<string[]> {
  const { brokers, plan, stored } = world;
  const all = brokers.all.filter(isDecoded);
  if (plan.retention !== null) return retentionWrongIn(world, all);
  const entries = plan.erasures.length === 0 ? all : asErased(all);
  const inOrder = await folded(notificationsReadModel, [entries]);
  const shuffled = await folded(notificationsReadModel, shuffledBatches(world, entries));
  const wrong = [...differencesOf('shuffled', inOrder, shuffled), ...statisticsWrongIn(inOrder)];
  for (const readModel of projectedBy(plan)) {
    const anew = readModel === notificationsReadModel ? inOrder : await folded(readModel, [entries]);
    const live = new Map<string, string>();
    for (const { name } of readModel.definition.collections)
      for (const [id, { text }] of stored.collections.get(name) ?? []) live.set(`${name}/${id}`, text);
    wrong.push(...differencesOf('folded while it grew', anew, live));
    if (readModel === notificationsReadModel) wrong.push(...statisticsWrongIn(live));
  }
  if (plan.erasures.length > 0) wrong.push(...(await erasuresWrongIn(world, all, inOrder)));
  return wrong;
}

/** Each partition of a topic in its order, side by side in any; some told again. */
function shuffledBatches({ random }: World, entries: readonly DecodedEntry[]): DecodedEntry[][] {
  const waiting = [...Map.groupBy(entries, ({ topic, partition }) => `${topic} ${partition}`).values()];
  const places = waiting.map(() => 0);
  // Of a long log some twelve batches: each reads and writes the statistics anew.
  const eventsEach = Math.max(8, Math.ceil(entries.length / 12));
  const batches: DecodedEntry[][] = [];
  let batch: DecodedEntry[] = [];
  for (let left = entries.length; left > 0; left--) {
    const open = places.flatMap((place, i) => (place < (waiting[i]?.length ?? 0) ? [i] : []));
    const i = random.of(open);
    const entry = waiting[i]?.[places[i] ?? 0];
    places[i] = (places[i] ?? 0) + 1;
    if (entry !== undefined) batch.push(entry);
    if (random.between(1, eventsEach) > 1) continue;
    batches.push(batch, ...(random.between(1, 6) === 1 ? [batch] : []));
    batch = [];
  }
  return [...batches, batch];
}

function differencesOf(how: string, expected: Folded, found: Folded): string[] {
  const wrong: string[] = [];
  for (const key of new Set([...expected.keys(), ...found.keys()]))
    if (expected.get(key) !== found.get(key))
      wrong.push(`${key} ${how}: ${found.get(key)} in place of ${expected.get(key)}`);
  return wrong;
}

/** Counted again from the records, by other means than the fold's. */
function statisticsWrongIn(documents: Folded): string[] {
  const expected = new Map<string, number>();
  const expect = (tenantId: string, timeMs: number, ...of: readonly string[]): void => {
    for (const [resolution, ms] of Object.entries(resolutionMs)) {
      const key = [tenantId, resolution, timeMs - (timeMs % ms), ...of].join(' ');
      expected.set(key, (expected.get(key) ?? 0) + 1);
    }
  };
  for (const record of documentsOf<NotificationDocument>(documents, notificationsCollection.name)) {
    const { tenantId, listedAt, channel, priority, status, attempts } = record;
    if (listedAt === null) continue;
    const last = attempts.findLast(({ outcome }) => outcome !== null)?.outcome;
    expect(tenantId, listedAt, 'requested', channel, priority, status, last?.provider ?? '');
    if (status === 'FAILED' && last?.kind === 'failed')
      expect(tenantId, last.occurredAt, 'failed', channel, last.failureClass, last.provider, last.code ?? '');
  }
  const found = new Map<string, number>();
  for (const cell of documentsOf<StatisticsCell>(documents, statisticsCollection.name)) {
    const add = (count: number, ...of: readonly string[]): void => {
      const key = [cell.tenantId, cell.resolution, cell.at, ...of].join(' ');
      found.set(key, (found.get(key) ?? 0) + count);
    };
    for (const [key, count] of countsIn(cell.counts)) {
      const { channel, priority, status, provider } = shareOfKey(key);
      add(count, 'requested', channel, priority, status, provider);
    }
    for (const [key, count] of countsIn(cell.failures)) {
      const { channel, failureClass, provider, code } = causeOfKey(key);
      add(count, 'failed', channel, failureClass, provider, code ?? '');
    }
  }
  return [...new Set([...expected.keys(), ...found.keys()])].flatMap((key) =>
    expected.get(key) === found.get(key)
      ? []
      : [`statistics: ${found.get(key)} of ${key}, the records say ${expected.get(key)}`],
  );
}
