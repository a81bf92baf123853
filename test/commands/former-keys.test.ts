// Which former signing secrets sign as well, where there have been more of them in 24 h than may.

import { expect, it } from '@jest/globals';

import { createSecretBox } from '../../src/adapters/node/secret-box.ts';
import { formerKeysAfter, type StoredFormerKeys } from '../../src/commands/former-keys.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { sealedFor } from '../../src/domain/tenant.ts';
import { formerKeysOf, type StoredProvider } from '../../src/ports/settings-store.ts';
import { storedProvider } from '../contracts/settings-store.ts';

const secretBox = createSecretBox('a secret of at least thirty-two characters');
const tenantId = 'tnt_a' as TenantId;
const context = sealedFor.provider(tenantId, 'WEBHOOK');
const minuteMs = 60_000;

/** At which minute what signs from then on; `own` is the tenant's secret, which signed for years. */
type Change = readonly [minute: number, signs: string];

/** The secrets of what is stored then, newest first. */
async function formerAfter(changes: readonly Change[]): Promise<readonly string[]> {
  const deps = { secretBox, directory: { webhookSecret: async () => 'own' } };
  let before: StoredProvider | null = null;
  for (const [minute, signs] of changes) {
    const key = signs === 'own' ? null : signs;
    const change = { tenantId, before, key, now: minute * minuteMs };
    const former: StoredFormerKeys = await formerKeysAfter(deps, change);
    const sealedApiKey = secretBox.seal(key ?? '', context);
    before = storedProvider({ channel: 'WEBHOOK', sealedApiKey, ...former, enabled: key !== null });
  }
  const stored = before === null ? [] : formerKeysOf(before);
  return stored.map(({ sealedKey }) => secretBox.open(sealedKey, context));
}

const tries = (from: number): readonly Change[] =>
  ['three', 'four', 'five', 'six'].map((name, i) => [from + 10 * i, name] as const);

it.each<[string, readonly Change[], string]>([
  ['the tenant’s own', [[0, 'one'], [5, 'own'], [6, 'two'], ...tries(10)], 'own'],
  ['one that was saved again', [[-10_000, 'one'], [0, 'two'], [2, 'one'], ...tries(2.5)], 'one'],
  [
    'one that was come back to often',
    [[0, 'one'], [5, 'own'], [6, 'one'], [7, 'own'], [8, 'two'], ...tries(10)],
    'own',
  ],
])('%s stays, which signed for long and again for a short time', async (_, changes, kept) => {
  const former = await formerAfter(changes);
  expect(former).toContain(kept);
  expect(new Set(former).size).toBe(4);
});

it('one that signed for minutes goes first, also where the one before it has just ended', async () => {
  const former = await formerAfter([
    [0, 'brief'],
    [5, 'one'],
    [600, 'two'],
    [1321, 'three'],
    [1441, 'four'],
    [1444.5, 'five'],
  ]);
  expect(former).toEqual(['four', 'three', 'two', 'one']);
});

it('of each are stored two times at most, however often it is come back to', async () => {
  const changes = Array.from({ length: 100 }, (_, i): Change => [
    i,
    ['one', 'two', 'three', 'four', 'five', 'own'][i % 6] ?? '',
  ]);
  const former = await formerAfter(changes);
  expect(former.length).toBeLessThanOrEqual(10);
  expect(former).toContain('own');
});
