// The tables that are folded from the log: each notification and each attempt once, as the records have them, however many times it was told of.

import { randomUUID } from 'node:crypto';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { toRecord } from '../../src/api/record.ts';
import type { DomainEvent, ProviderReported } from '../../src/domain/events.ts';
import { isNotificationEvent } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { NotificationFacts } from '../../src/domain/notification.ts';
import { mergeEvent } from '../../src/domain/notification.ts';
import { isListed, toDocument } from '../../src/projections/notifications/document.ts';
import type { Engines } from '../projections/engines.ts';
import { appendAll, openEngines } from '../projections/engines.ts';
import { anyHistory, lifeOf, notificationIdFor } from '../projections/histories.ts';
import type { Plan } from '../projections/histories.ts';
import fc from '../support/properties.ts';
import { until } from '../support/until.ts';
import type { Exported, Exporting } from './exporting.ts';
import { startExporting } from './exporting.ts';

let engines: Engines;
let exporting: Exporting;

beforeEach(async () => {
  engines = await openEngines();
  exporting = await startExporting(engines.log);
});

afterEach(async () => {
  await exporting.remove();
  await engines.close();
});

const quiet: Plan = {
  tenant: 0,
  channel: 'EMAIL',
  priority: 'HIGH',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: [],
  isRetriedByHand: false,
  isRead: false,
};

function factsOf(events: readonly DomainEvent[]): NotificationFacts[] {
  const facts = new Map<string, NotificationFacts>();
  for (const event of events)
    if (isNotificationEvent(event))
      facts.set(event.notificationId, mergeEvent(facts.get(event.notificationId) ?? null, event));
  return [...facts.values()];
}

/** What the API shows of it, by the names that the table has in common with it. */
function recordsOf(events: readonly DomainEvent[]): Exported[] {
  const documents = factsOf(events).map(toDocument).filter(isListed);
  return documents.map((document) => ({ ...toRecord(document), tenantId: document.tenantId }));
}

const timeOf = (iso: unknown) => Date.parse(typeof iso === 'string' ? iso : '');
const texts = (values: readonly unknown[]) => values.map((value) => (typeof value === 'string' ? value : '')).sort();
const byId = (rows: readonly Exported[]) => rows.toSorted((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1));
const inCommon = (rows: readonly Exported[], like: Exported) =>
  byId(rows).map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => name in like)));

/** Histories that a hundred notifications have together, each told twice here and there. */
const lives = (count: number, plan: Partial<Plan> = {}) =>
  Array.from({ length: count }, (_, i) => lifeOf({ ...quiet, steps: ['retry', 'succeeded'], ...plan }, i + 1)).flat();

describe('the table notifications', () => {
  it('shows of any history what the API shows of it, and its latency', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const own = await openEngines();
        const there = await startExporting(own.log);
        try {
          const events = history.map(({ event }) => event);
          await appendAll(own.log, [...events, ...events.slice(0, 3)]);
          await there.export(`all-${++run}`, { table: 'notifications' });
          const rows = there.rows(`all-${run}`);
          const records = recordsOf(events);
          const [first = {}] = rows;
          expect(inCommon(rows, records[0] ?? {})).toEqual(inCommon(records, first));
          for (const { deliveredAt, createdAt, latencyMs } of rows)
            expect(latencyMs).toBe(deliveredAt === null ? null : timeOf(deliveredAt) - timeOf(createdAt));
        } finally {
          await there.remove();
          await own.close();
        }
      }),
      { numRuns: 25 },
    );
  });

  it('of what came since holds each notification that something happened to, as it is now', async () => {
    const before = lives(20, { steps: ['retry'] });
    await appendAll(engines.log, before);
    await exporting.export('monday', { table: 'notifications' });
    const ofThree = [3, 4, 5].flatMap((number) => lifeOf({ ...quiet, steps: ['retry', 'succeeded'] }, number));
    const after = ofThree.filter(({ type }) => type === 'AttemptSucceeded');
    await appendAll(engines.log, after);
    await exporting.exportSince('tuesday', 'monday', { table: 'notifications' });
    const rows = exporting.rows('tuesday');
    expect(texts(rows.map(({ id }) => id))).toEqual(texts([3, 4, 5].map(notificationIdFor)));
    expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['DELIVERED']));
    expect(exporting.rows('monday').every(({ status }) => status === 'RETRYING')).toBe(true);
    expect(await exporting.verify('tuesday')).toEqual([]);
  });

  it('cut off between any two shards goes on to the same rows', async () => {
    await appendAll(engines.log, lives(120));
    const whole = await exporting.export('whole', { table: 'notifications', roundRows: 10 });
    let runs = 0;
    for (let isCut = true; isCut; runs++) {
      let pieces = 0;
      const onProgress = () => {
        if (++pieces > 20 + runs) throw new Error('cut off');
      };
      const table = 'notifications';
      isCut = await exporting.export('cut', { table, roundRows: 10, onProgress }).then(
        () => false,
        () => true,
      );
    }
    expect(runs).toBeGreaterThan(2);
    expect(exporting.rows('cut')).toEqual(exporting.rows('whole'));
    expect(await exporting.verify('cut')).toEqual([]);
    expect(whole.rows).toBe(120);
  });

  it('has what providers reported of it, by the tenant’s own provider alone, also what came in the range alone', async () => {
    await appendAll(engines.log, lives(2));
    await exporting.export('before', { table: 'notifications' });
    const [of] = lifeOf(quiet, 1);
    if (of?.type !== 'NotificationRequested') throw new Error('no request');
    const report = (kind: ProviderReported['report'], reportedAt: number, more: Partial<ProviderReported> = {}) => ({
      type: 'ProviderReported' as const,
      eventId: randomUUID() as ProviderReported['eventId'],
      occurredAt: reportedAt,
      tenantId: of.tenantId,
      traceparent: null,
      notificationId: of.notificationId,
      partition: of.partition,
      channel: of.channel,
      provider: 'postmark',
      report: kind,
      reportedAt,
      recipient: null,
      permanent: kind === 'bounced',
      reason: kind === 'bounced' ? `at ${reportedAt}` : null,
      ...more,
    });
    await appendAll(engines.log, [
      report('bounced', 3_000),
      report('bounced', 2_000),
      report('opened', 1_000),
      report('clicked', 500, { tenantId: 'tnt_stranger' as TenantId }),
    ]);
    await exporting.exportSince('since', 'before', { table: 'notifications' });
    const at = (ms: number) => new Date(ms).toISOString();
    expect(exporting.rows('since')).toMatchObject([
      {
        id: of.notificationId,
        bouncedAt: at(2_000),
        bounceReason: 'at 3000',
        openedAt: at(1_000),
        clickedAt: null,
        complainedAt: null,
        reportedDeliveredAt: null,
      },
    ]);
    expect(exporting.rows('before').every(({ bouncedAt }) => bouncedAt === null)).toBe(true);
  });

  it('says which of two rows is the later one, whatever made it and however the clock goes', async () => {
    await appendAll(engines.log, lives(3, { steps: ['succeeded'] }));
    await exporting.export('monday', { table: 'notifications' });
    const [of] = lifeOf(quiet, 1);
    if (of?.type !== 'NotificationRequested') throw new Error('no request');
    const { tenantId, notificationId, partition, channel } = of;
    const opened = { type: 'ProviderReported', report: 'opened', provider: 'postmark', reportedAt: 1_000 } as const;
    const rest = { traceparent: null, recipient: null, permanent: false, reason: null, occurredAt: 1_000 };
    const eventId = randomUUID() as ProviderReported['eventId'];
    await appendAll(engines.log, [{ ...opened, ...rest, eventId, tenantId, notificationId, partition, channel }]);
    await exporting.exportSince('tuesday', 'monday', { table: 'notifications', clock: { now: () => 0 } });
    const [later] = exporting.rows('tuesday');
    const earlier = exporting.rows('monday').find(({ id }) => id === notificationId);
    expect([earlier?.['openedAt'], later?.['openedAt']]).toEqual([null, '1970-01-01T00:00:01.000Z']);
    // A report is no change of the notification's own.
    expect(later?.['updatedAt']).toBe(earlier?.['updatedAt']);
    expect(String(later?.['exportedAt']) > String(earlier?.['exportedAt'])).toBe(true);
  });

  it('says which of two rows is the later one where a range that was missed is exported behind a later one', async () => {
    const life = lifeOf({ ...quiet, steps: ['succeeded'] }, 1);
    const isOutcome = ({ type }: DomainEvent) => type === 'AttemptSucceeded';
    await appendAll(
      engines.log,
      life.filter((event) => !isOutcome(event)),
    );
    const appendedBy = Date.now();
    await until(() => Date.now() > appendedBy + 1, { what: 'a later time' });
    const midnight = Date.now();
    await appendAll(engines.log, life.filter(isOutcome));
    const at = (ms: number) => ({ table: 'notifications', clock: { now: () => midnight + ms } }) as const;
    await exporting.export('tuesday', { ...at(1_000), from: midnight });
    await exporting.export('monday', { ...at(2_000), to: midnight });
    await exporting.exportSince('wednesday', 'monday', at(500));
    const statusOf = (name: string) => exporting.rows(name).map(({ status }) => status);
    expect([statusOf('monday'), statusOf('tuesday')]).toEqual([['QUEUED'], ['DELIVERED']]);
    const rows = ['monday', 'tuesday', 'wednesday'].map((name) => exporting.rows(name)[0]?.['exportedAt']);
    expect(rows).toEqual([0, 1_000, 500].map((ms) => new Date(midnight + ms).toISOString()));
    expect(await Promise.all(['monday', 'wednesday'].map((name) => exporting.verify(name)))).toEqual([[], []]);
  });

  it('keeps texts with any line end that Unicode knows', async () => {
    const [requested, ...rest] = lifeOf(quiet, 1);
    if (requested?.type !== 'NotificationRequested') throw new Error('no request');
    const body = 'a\u2028b\u2029c\nd\r\ne\u0085f';
    await appendAll(engines.log, [{ ...requested, request: { ...requested.request, body } }, ...rest]);
    await exporting.export('out', { table: 'notifications' });
    expect(exporting.rows('out')).toMatchObject([{ body }]);
  });
});

describe('the table attempts', () => {
  it('has each attempt once, with its outcome, though the log tells it twice', async () => {
    const events = lives(10);
    await appendAll(engines.log, [...events, ...events.filter(({ type }) => type !== 'NotificationRequested')]);
    await exporting.export('out', { table: 'attempts' });
    const rows = exporting.rows('out');
    const told = events.filter((event) => event.type === 'AttemptFailed' || event.type === 'AttemptSucceeded');
    expect(texts(rows.map(({ attemptId }) => attemptId))).toEqual(texts(told.map(({ eventId }) => eventId)));
    const failed = told.find((event) => event.type === 'AttemptFailed');
    expect(rows.find(({ attemptId }) => attemptId === failed?.eventId)).toMatchObject({
      status: 'FAILED',
      notificationId: failed?.notificationId,
      attemptNumber: failed?.attempt,
      errorClass: failed?.failureClass,
      errorCode: failed?.code,
      error: failed?.message,
      provider: failed?.provider,
      waitedMs: failed?.waitedMs,
      tookMs: failed?.tookMs,
    });
  });

  it('shows one whose outcome nobody knows yet as STARTED', async () => {
    await appendAll(engines.log, lives(1, { steps: ['started'] }));
    await exporting.export('out', { table: 'attempts' });
    expect(exporting.rows('out')).toMatchObject([
      { status: 'STARTED', attemptNumber: 1, endedAt: null, errorClass: null },
    ]);
  });

  it('says which of two rows of an attempt is the later one', async () => {
    const life = lifeOf({ ...quiet, steps: ['succeeded'] }, 1);
    const outcome = life.find((event) => event.type === 'AttemptSucceeded');
    if (outcome?.type !== 'AttemptSucceeded') throw new Error('no outcome');
    await appendAll(engines.log, lifeOf({ ...quiet, steps: ['started'] }, 1));
    await exporting.export('monday', { table: 'attempts' });
    await appendAll(engines.log, [outcome]);
    await exporting.exportSince('tuesday', 'monday', { table: 'attempts' });
    const rows = [...exporting.rows('tuesday'), ...exporting.rows('monday')];
    expect(
      new Set(rows.map(({ notificationId, attemptNumber }) => JSON.stringify([notificationId, attemptNumber]))).size,
    ).toBe(1);
    const latest = rows.toSorted((a, b) => (String(a['exportedAt']) < String(b['exportedAt']) ? 1 : -1));
    expect(latest.map(({ status }) => status)).toEqual(['DELIVERED', 'STARTED']);
  });
});
