// Suppression lists over Kafka: what one process says every other one has, from its start on and as it is said.

import { afterAll, expect, it, jest } from '@jest/globals';

import { releaseRecipient, suppressRecipient } from '../../src/commands/suppress-recipient.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { followSuppressions } from '../../src/projections/suppressions/follow.ts';
import { clock, makeLogWorld } from '../adapters/kafka/log-world.ts';
import { until } from '../support/until.ts';

jest.setTimeout(120_000);

const world = makeLogWorld();
afterAll(() => world.remove());

const { signal } = new AbortController();
const logger = { warn: () => undefined };

it('a recipient is suppressed and released on every process, and on one that starts later', async () => {
  const tenantId = 'tnt_ada' as TenantId;
  const logs = [await world.open(), await world.open()] as const;
  const one = await followSuppressions({ log: logs[0], clock, logger }, signal);
  const other = await followSuppressions({ log: logs[1], clock, logger }, signal);
  const suppress = suppressRecipient({ log: logs[0], suppressions: one.list, clock });
  const release = releaseRecipient({ log: logs[1], suppressions: other.list, clock });
  const recipients = Array.from({ length: 20 }, (_, i) => `r${i}@example.com`);
  for (const recipient of recipients) {
    const { entry, isNew } = await suppress({ tenantId, actor: 'ada', channel: 'EMAIL', recipient, reason: 'manual' });
    expect([isNew, entry.recipient]).toEqual([true, recipient]);
  }
  const has = ({ list }: typeof one) => recipients.filter((recipient) => list.has(tenantId, 'EMAIL', recipient));
  await until(() => has(other).length === recipients.length, { what: 'the other process to have them' });
  expect(has(one)).toEqual(recipients);
  for (const { id } of other.list.of(tenantId).slice(0, 5)) await release({ tenantId, actor: 'bob', id });
  await until(() => has(one).length === 15, { what: 'the first process to have what was released' });
  const later = await followSuppressions({ log: await world.open(), clock, logger }, signal);
  expect(has(later)).toEqual(has(other));
  expect(new Set(later.list.of(tenantId))).toEqual(new Set(one.list.of(tenantId)));
  for (const { stop } of [one, other, later]) stop();
});
