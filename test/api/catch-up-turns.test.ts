// Looks of a tenant's streams, one at a time with rests between them.

import { expect, it } from '@jest/globals';

import { createCatchUpTurns } from '../../src/api/catch-up-turns.ts';
import type { TenantId } from '../../src/domain/ids.ts';

it('a tenant rests three times as long as a look took, and not at all after a short one', async () => {
  const rests: number[] = [];
  const takeTurn = createCatchUpTurns(16, { sleep: async (ms) => void rests.push(ms) });
  for (const tookMs of [1, 4.9, 5, 20, 1, 2000, 0]) await takeTurn('tnt_a' as TenantId, async () => tookMs);
  expect(rests).toEqual([15, 60, 3000]);
});
