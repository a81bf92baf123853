// What the end of an attempt says to those who wait for the same receiver, or for any of the same tenant's providers.

import { expect, it } from '@jest/globals';

import type { Attempt } from '../../src/dispatchers/attempt.ts';
import { createEndings } from '../../src/dispatchers/endings.ts';
import { delivered, retryable } from './harness.ts';

it.each([
  ['that it is up: nobody waits in line for it any more', true],
  ['nothing of that: the line stays', false],
])('an outcome that says %s, whether it was delivered or not', (_, isUp) => {
  const ended: unknown[] = [];
  const { tellBreaker } = createEndings({
    breakers: { note: () => isUp },
    deferrals: { end: (of: unknown) => void ended.push(of) },
  } as never);
  const pass = { tenantId: 'tnt_a', awaited: 'tnt_a' };
  for (const outcome of [delivered, retryable()]) tellBreaker({ pass } as unknown as Attempt, outcome);
  expect(ended).toEqual(isUp ? [pass, pass] : []);
});
