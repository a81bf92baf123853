// A look-back, as a rebuild without a service, counts what is reported on a notification once it is forgotten, on the day of that report.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

import { openEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { openReadModelStore } from '../../src/adapters/sqlite/read-models/store.ts';
import { createCodec } from '../../src/codec/index.ts';
import type { NotificationsForgotten, ProviderReported } from '../../src/domain/events.ts';
import { eventIdFrom } from '../../src/domain/ids.ts';
import { allTopics, defaultPartitioning } from '../../src/domain/topics.ts';
import { foldLookBack } from '../../src/lookback/fold.ts';
import type { Logger } from '../../src/ports/logger.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { countReports } from '../../src/projections/notifications/reports.ts';
import { requested } from '../support/requested.ts';
import { wallClock } from '../support/wall-clock.ts';

const dayMs = 24 * 3_600_000;
const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

it('counts an open that came a day after its mail was forgotten', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'herald-late-report-'));
  let now = Date.UTC(2026, 10, 1, 12);
  const clock = { ...wallClock, now: () => now };
  const log = openEventLog({
    path: join(folder, 'log.db'),
    codec: createCodec(),
    clock,
    logger,
    partitioning: defaultPartitioning,
    topics: allTopics,
    groups: [],
  });
  const store = openReadModelStore({ path: join(folder, 'views.db'), clock, logger });
  const { tenantId, notificationId, partition } = requested(0, 1);
  const forgotten: NotificationsForgotten = {
    type: 'NotificationsForgotten',
    eventId: eventIdFrom('forgotten', partition, 1, notificationId),
    occurredAt: now,
    tenantId,
    traceparent: null,
    partition,
    sequence: 1,
    follows: null,
    notificationIds: [notificationId],
    batchIds: [],
    kept: [],
    endedDays: [],
  };
  expect(await log.append(forgotten)).toMatchObject({ kind: 'durable' });
  now += dayMs;
  const opened: ProviderReported = {
    type: 'ProviderReported',
    eventId: eventIdFrom('reported', tenantId, 'sendgrid', 'an open'),
    occurredAt: now,
    tenantId,
    traceparent: null,
    notificationId,
    partition,
    channel: 'EMAIL',
    provider: 'sendgrid',
    report: 'opened',
    reportedAt: now,
    recipient: null,
    permanent: false,
    reason: null,
  };
  expect(await log.append(opened)).toMatchObject({ kind: 'durable' });
  try {
    await foldLookBack({ log, store, readModels: [notificationsReadModel], onProgress: () => undefined });
    const range = { from: now - 2 * dayMs, to: now + dayMs, step: 'day' } as const;
    expect(await countReports(store, tenantId, range)).toMatchObject({ opened: 1 });
  } finally {
    await store.close();
    await log.close();
    rmSync(folder, { recursive: true });
  }
});
