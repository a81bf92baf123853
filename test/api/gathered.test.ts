// Questions that come together are asked together; what comes later is asked anew, and a failure is told to all who asked.

import { expect, it } from '@jest/globals';

import { gathered } from '../../src/api/gathered.ts';

it('asks for all that comes in one turn at once, and answers each', async () => {
  const asked: (readonly number[])[] = [];
  const ask = gathered(async (keys: readonly number[]) => {
    asked.push(keys);
    return new Map(keys.filter((key) => key % 2 === 0).map((key) => [key, `even ${key}`]));
  });
  expect(await Promise.all([ask(1), ask(2), ask(2), ask(4)])).toEqual([null, 'even 2', 'even 2', 'even 4']);
  expect(await ask(6)).toBe('even 6');
  expect(asked).toEqual([[1, 2, 2, 4], [6]]);
});

it('tells a failure to all who asked, and asks anew after it', async () => {
  let isAway = true;
  const ask = gathered(async (keys: readonly number[]) => {
    if (isAway) throw new Error('away');
    return new Map(keys.map((key) => [key, key]));
  });
  const answers = await Promise.allSettled([ask(1), ask(2)]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isAway = false;
  expect(await ask(3)).toBe(3);
});
