// A provider's report over Kafka: what one process takes, every other one acts by within a second, and a release by any of them holds.

import { afterAll, expect, it, jest } from '@jest/globals';

import { reportDelivery } from '../../src/commands/report-delivery.ts';
import { releaseRecipient } from '../../src/commands/suppress-recipient.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { ProviderReport } from '../../src/ports/callbacks.ts';
import { followSuppressions } from '../../src/projections/suppressions/follow.ts';
import { clock, makeLogWorld } from '../adapters/kafka/log-world.ts';
import { until } from '../support/until.ts';

jest.setTimeout(120_000);

const world = makeLogWorld();
afterAll(() => world.remove());

const { signal } = new AbortController();
const logger = { warn: () => undefined };
const tenantId = 'tnt_ada' as TenantId;

function bounce(i: number, recipient: string, at: number): ProviderReport {
  const notificationId = `notif_01hzx5v6k2m8n4q7r9t3w5y8z${i}` as NotificationId;
  return { notificationId, kind: 'bounced', at, id: `event-${i}`, recipient, permanent: true, reason: null };
}

it('permanent bounces suppress on every process within a second; released by another, a repeat suppresses nobody', async () => {
  const logs = [await world.open(), await world.open()] as const;
  const one = await followSuppressions({ log: logs[0], clock, logger }, signal);
  const other = await followSuppressions({ log: logs[1], clock, logger }, signal);
  const report = reportDelivery({ log: logs[0], suppressions: one.list, clock });
  const release = releaseRecipient({ log: logs[1], suppressions: other.list, clock });
  const recipients = Array.from({ length: 10 }, (_, i) => `r${i}@example.com`);
  const reports = recipients.map((recipient, i) => bounce(i, recipient, clock.now()));
  const of = { tenantId, channel: 'EMAIL', provider: 'ses', reports } as const;
  const has = ({ list }: typeof one) => recipients.filter((recipient) => list.has(tenantId, 'EMAIL', recipient));
  // The first one waits for topics and leaders.
  await report({ ...of, reports: reports.slice(0, 1) });
  await until(() => has(one).length === 1, { what: 'the process to have its own' });
  expect(await report(of)).toEqual({ suppressed: 9, unsuppressed: 0 });
  const answeredAt = clock.monotonic();
  await until(() => has(one).length === 10 && has(other).length === 10, { what: 'both processes to have them' });
  expect(clock.monotonic() - answeredAt).toBeLessThan(1000);

  for (const { id } of other.list.of(tenantId).slice(0, 5)) await release({ tenantId, actor: 'bob', id });
  await until(() => has(one).length === 5, { what: 'the first process to have what was released' });
  expect(await report(of)).toEqual({ suppressed: 0, unsuppressed: 0 });
  const later = await followSuppressions({ log: await world.open(), clock, logger }, signal);
  expect(has(later)).toEqual(has(one));
  // A process that has just started knows of the releases as well.
  const again = reportDelivery({ log: logs[1], suppressions: later.list, clock });
  expect(await again(of)).toEqual({ suppressed: 0, unsuppressed: 0 });
  for (const { stop } of [one, other, later]) stop();
});
