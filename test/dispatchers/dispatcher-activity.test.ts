// What a dispatcher tells the watchdog: what it begins and finishes of each number, and whether something is in flight that ends by itself.

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { workTopic } from '../../src/domain/topics.ts';
import { until } from '../support/until.ts';
import type { DispatcherProcess, World } from './harness.ts';
import { delivered, makeWorld } from './harness.ts';
import { requested } from './work-events.ts';

let world: World;

beforeEach(async () => {
  world = await makeWorld();
});

afterEach(() => world.close());

const topic = workTopic('WEBHOOK', 'DEFAULT');

function activityOf({ dispatcher }: DispatcherProcess, partition: number) {
  return dispatcher.activity().find((one) => one.topic === topic && one.partition === partition);
}

it('an attempt counts when it begins and when its outcome is durable, and is under way in between', async () => {
  const answer = Promise.withResolvers<void>();
  const process = await world.run({ send: () => answer.promise.then(() => delivered) });
  const event = requested();
  await until(() => activityOf(process, event.partition));
  await world.append([event]);
  await until(() => process.sends.length === 1);
  expect(activityOf(process, event.partition)).toMatchObject({ moves: 1, isUnderWay: true });
  expect(activityOf(process, (event.partition + 1) % 12)).toMatchObject({ moves: 0, isUnderWay: false });
  answer.resolve();
  await until(() => activityOf(process, event.partition)?.moves === 2);
  expect(activityOf(process, event.partition)).toMatchObject({ isUnderWay: false });
});

it('how far a number was read is told, whatever of it waits', async () => {
  const process = await world.run({ send: () => new Promise(() => undefined) });
  const event = requested();
  await until(() => activityOf(process, event.partition));
  expect(activityOf(process, event.partition)).toMatchObject({ readTo: 0 });
  await world.append([event]);
  await until(() => activityOf(process, event.partition)?.readTo === 1, { what: 'what was appended' });
});

it('an attempt that can not be made, for want of settings or rate, does not count', async () => {
  let asked = 0;
  const process = await world.run({
    directory: { provider: () => (asked++, Promise.reject(new Error('away'))) },
  });
  const event = requested();
  await world.append([event]);
  await until(() => asked >= 2, { what: 'two tries' });
  expect(activityOf(process, event.partition)).toMatchObject({ moves: 0, isUnderWay: false });
});

it('an attempt past its deadline is not under way', async () => {
  const process = await world.run({
    // Nor does it end: what would end it at its deadline may be what is broken.
    limits: { attemptDeadlineMs: 300 },
    send: () => new Promise(() => undefined),
    wrapLog: (log) => ({ ...log, append: () => new Promise(() => undefined) }),
  });
  const event = requested();
  await world.append([event]);
  await until(() => process.sends.length === 1);
  await until(() => activityOf(process, event.partition)?.isUnderWay === false, { what: 'its deadline' });
  expect(activityOf(process, event.partition)).toMatchObject({ moves: 1 });
});
