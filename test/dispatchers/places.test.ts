// Places: so many at once, in turn, and given back whatever happens.

import { expect, it } from '@jest/globals';

import { createPlaces } from '../../src/dispatchers/places.ts';

it('are never taken by more than there are, go to those who wait in the order in which they came, and come back from one who fails', async () => {
  const places = createPlaces(2, Math.random);
  const begun: number[] = [];
  const ends: PromiseWithResolvers<void>[] = [];
  const runs = [0, 1, 2, 3, 4].map((i) =>
    places(() => {
      begun.push(i);
      return (ends[i] = Promise.withResolvers<void>()).promise;
    }).catch(() => 'failed'),
  );
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  await settle();
  expect(begun).toEqual([0, 1]);
  ends[1]?.reject(new Error('the log is away'));
  await settle();
  expect(begun).toEqual([0, 1, 2]);
  ends[0]?.resolve();
  ends[2]?.resolve();
  await settle();
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  for (const end of ends) end.resolve();
  expect(await Promise.all(runs)).toEqual([undefined, 'failed', undefined, undefined, undefined]);
});

it('go to who asks to stand anywhere when chance says so, and those who came before keep their order', async () => {
  const chances = [0, 0.5, 0.99];
  const places = createPlaces(1, () => chances.shift() ?? 0);
  const begun: string[] = [];
  const run = (name: string, waiting?: 'anywhere') => places(async () => void begun.push(name), waiting);
  await Promise.all([
    run('first'),
    run('a'),
    run('b'),
    run('before all', 'anywhere'),
    run('in the middle', 'anywhere'),
    run('behind all', 'anywhere'),
  ]);
  expect(begun).toEqual(['first', 'before all', 'a', 'in the middle', 'b', 'behind all']);
});
