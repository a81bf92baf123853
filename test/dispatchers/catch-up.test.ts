// Reading again what tenants left in the log, in processes that are killed before all numbers have had their turn.

import { expect, it } from '@jest/globals';

import { createAnsweredBefore } from '../../src/dispatchers/answered-before.ts';
import { nothingAnswered } from '../../src/dispatchers/answered.ts';
import { createCatchUp } from '../../src/dispatchers/catch-up.ts';
import { accountLimits } from '../../src/dispatchers/partition-account.ts';
import { createComingBack } from '../../src/dispatchers/coming-back.ts';
import { createReadAhead } from '../../src/dispatchers/read-ahead.ts';
import type { Reading } from '../../src/dispatchers/reading.ts';
import { encodePosition, tenantKey } from '../../src/dispatchers/position-text.ts';
import type { LogEntry } from '../../src/ports/event-log.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { workTopic } from '../../src/domain/topics.ts';
import { createRandom } from '../chaos/random.ts';
import { requested } from './work-events.ts';

const topic = workTopic('WEBHOOK', 'BULK');
const numbers = 12;
const tenantId = 'tnt_0' as TenantId;
/** All was read, and of each number one tenant's one event was left. */
const left = encodePosition({
  window: { offset: 1, metadata: '' },
  laggards: [{ key: tenantKey(tenantId), unfinished: [], resume: 0 }],
});
const event = requested({ tenant: tenantId, priority: 'BULK' });

/** The numbers that are read in a process that lives for so many ranges, one after the other. */
async function lifeOf(ranges: number, random: () => number): Promise<number[]> {
  const read: number[] = [];
  const done = Promise.withResolvers<void>();
  const catchUp = createCatchUp({
    log: {
      ends: async () => Array.from({ length: numbers }, () => 1),
      async *read({ partition }): AsyncIterable<LogEntry> {
        read.push(partition);
        if (read.length === ranges) done.resolve();
        if (read.length >= ranges) await new Promise(() => {});
        yield { topic, partition, offset: 0, appendedAt: 0, size: 1, head: event, event, undecodable: null };
      },
    },
    clock: { random, sleep: () => Promise.resolve() },
    untilItWorks: (_, __, ask) => ask(),
    offer: ({ tracker }, { offset }) => tracker.finish({ tenantId, offset, bytes: 1 }),
  });
  const clock = { monotonic: () => 0, random: () => 0.5 };
  const readAhead = createReadAhead({
    weightOf: () => 1,
    isPaused: () => false,
    clock,
    comingBack: createComingBack({ clock }),
    accountLimits,
  });
  for (let partition = 0; partition < numbers; partition++) {
    const tracker = readAhead.track({ topic, partition }, left, left);
    const answered = createAnsweredBefore({
      topic,
      partition,
      tracker,
      endsNow: () => Promise.resolve(1),
      findAnswered: () => Promise.resolve(nothingAnswered),
    });
    const number = { isOver: false, trackers: [tracker] } as unknown as Reading['number'];
    void catchUp({ number, tracker, answered });
  }
  await done.promise;
  return read;
}

it('begins with other numbers in every process: the turn of each comes though none lives until all have had theirs', async () => {
  const random = createRandom(7);
  const read = new Set<number>();
  for (let life = 0; life < 60; life++) for (const number of await lifeOf(6, random.next)) read.add(number);
  expect([...read].sort((a, b) => a - b)).toEqual(Array.from({ length: numbers }, (_, number) => number));
});
