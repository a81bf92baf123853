// A read that takes too long: 503 in time, whatever its store does, and no timer stays behind one that is answered.

import { expect, it } from '@jest/globals';

import { withinTime } from '../../src/api/deadline.ts';
import { createManualClock } from '../adapters/memory/manual-clock.ts';

it('is 503 when its time is over, and what it fails with later harms nobody', async () => {
  const clock = createManualClock();
  const work = Promise.withResolvers<string>();
  const answer = withinTime(work.promise, clock, 6000);
  clock.advance(6000);
  await expect(answer).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  work.reject(new Error('the store was slow'));
});

it('in time is its own answer or its own failure, and nothing sleeps on', async () => {
  const clock = createManualClock();
  expect(await withinTime(Promise.resolve('here'), clock, 6000)).toBe('here');
  await expect(withinTime(Promise.reject(new Error('no such row')), clock, 6000)).rejects.toThrow('no such row');
  expect(clock.sleepers()).toBe(0);
});
