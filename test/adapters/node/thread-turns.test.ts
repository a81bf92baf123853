// Turns on a shared thread: each ends after its few ms, and those who wait go on one in a turn of the event loop, in their order.

import { expect, it } from '@jest/globals';

import { createThreadTurns } from '../../../src/adapters/node/thread-turns.ts';

const loopTurn = () => new Promise((resolve) => setImmediate(resolve));

it('a turn is over after some ms of work, whoever asks, and begins anew with the next turn of the event loop', async () => {
  const turns = createThreadTurns();
  const startedAt = performance.now();
  expect(turns.isOver()).toBe(false);
  while (!turns.isOver());
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(4);
  expect(turns.isOver()).toBe(true);
  await loopTurn();
  await loopTurn();
  const pieces: boolean[] = [];
  // A machine may stand still between two looks.
  for (let i = 0; i < 100 && !pieces.includes(false); i++) {
    pieces.push(turns.isOver());
    await loopTurn();
  }
  expect(pieces).toContain(false);
});

it('those who wait go on one in a turn, in the order in which they came, and everybody else has turns between them', async () => {
  const turns = createThreadTurns();
  const order: string[] = [];
  let loop = 0;
  let isDone = false;
  const count = (): void => {
    loop++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const work = async (name: string) => {
    for (let i = 0; i < 3; i++) {
      await turns.next();
      order.push(`${name}${i}`);
    }
  };
  const before = loop;
  await Promise.all([work('a'), work('b'), work('c')]);
  isDone = true;
  expect(order).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
  expect(loop - before).toBeGreaterThanOrEqual(8);
});
