// What readiness says of the log: what became of the last append.

import { expect, it } from '@jest/globals';

import { followAppends } from '../../src/main/append-health.ts';
import type { AppendResult, EventLog } from '../../src/ports/event-log.ts';
import { createManualClock } from '../adapters/memory/manual-clock.ts';
import { requested } from '../dispatchers/work-events.ts';

const durable: AppendResult = { kind: 'durable', position: { topic: 'work', partition: 0, offset: 0 } };

function followed(results: AppendResult[]) {
  const clock = createManualClock();
  const state = { isReady: true };
  const append = async () => results.shift() ?? durable;
  const appendAll = (events: readonly unknown[]) => Promise.all(events.map(append));
  const log = { append, appendAll, ready: async () => state.isReady };
  return { clock, state, ...followAppends(log as unknown as EventLog, clock, () => {}) };
}

it('follows the last append: down with the reason after one that failed, up after one that did not', async () => {
  const { log, isUp } = followed([durable, { kind: 'unknown', reason: 'the disk is full' }, durable]);
  expect(await isUp()).toBe(true);
  await log.append(requested());
  expect(await isUp()).toBe(true);
  await log.append(requested());
  // The log itself believes that it works: what was asked of it did not.
  expect(await isUp()).toBe('the disk is full');
  await log.append(requested());
  expect(await isUp()).toBe(true);
});

it('follows the last of many that were appended together', async () => {
  const failed: AppendResult = { kind: 'refused', reason: 'no leader' };
  const { log, isUp } = followed([durable, failed, failed, durable]);
  await log.appendAll([requested(), requested()]);
  expect(await isUp()).toBe('no leader');
  await log.appendAll([requested(), requested()]);
  expect(await isUp()).toBe(true);
});

it('says nothing of what no process can append now: a balancer would have nobody left', async () => {
  const { log, isUp } = followed([{ kind: 'refused', reason: 'no leader', isEverywhere: true }]);
  await log.append(requested());
  expect(await isUp()).toBe(true);
});

it('asks the log where nothing was appended for 30 s: a process that is unready gets no requests', async () => {
  const { log, isUp, clock, state } = followed([{ kind: 'refused', reason: 'no leader' }]);
  await log.append(requested());
  clock.advance(29_999);
  expect(await isUp()).toBe('no leader');
  clock.advance(1);
  expect(await isUp()).toBe(true);
  state.isReady = false;
  expect(await isUp()).toBe('no leader');
});
