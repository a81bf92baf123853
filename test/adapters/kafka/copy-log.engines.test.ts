// An embedded log copied into Kafka: nothing tells the two apart, whatever happens in between.

import { isDeepStrictEqual } from 'node:util';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';

import type { CopyLogDependencies } from '../../../src/replay/copy-log.ts';
import { copyLog } from '../../../src/replay/copy-log.ts';
import { requested } from '../../support/requested.ts';
import type { CopyWorld } from './copy-world.ts';
import { addOddities, emailHigh, everythingIn, fill, finishSome, makeCopyWorld, positionsIn } from './copy-world.ts';

const timeoutMs = 90_000;

let world: CopyWorld;
beforeEach(() => {
  world = makeCopyWorld();
});
afterEach(() => world.remove(), timeoutMs);

const copy = (more: Partial<CopyLogDependencies> = {}) =>
  copyLog({
    source: world.openSource(),
    target: world.openTarget(),
    copySettings: async () => {},
    onProgress: () => {},
    ...more,
  });

/** Stops the copy once so many events are through. */
const interruptedAt = (events: number) => ({
  onProgress(done: number) {
    if (done >= events) throw new Error('interrupted');
  },
});

const filled = async (count: number): Promise<void> => {
  const log = world.openEmbedded();
  await fill(log, count);
  await finishSome(log);
  await log.close();
};

/** Both logs from end to end. */
const expectCopied = async (): Promise<void> => {
  const embedded = world.openEmbedded();
  const kafka = await world.openKafka();
  const [copied, original] = [await everythingIn(kafka), await everythingIn(embedded)];
  expect(copied).toHaveLength(original.length);
  // The first that differs alone: of two long lists Jest makes its difference for hours, and no time-out reaches it.
  const differing = copied.findIndex((entry, i) => !isDeepStrictEqual(entry, original[i]));
  expect(copied[differing]).toEqual(original[differing]);
  expect(await positionsIn(kafka)).toEqual(await positionsIn(embedded));
  await embedded.close();
};

describe('a copied log', () => {
  it(
    'has every entry at its offset with its bytes and time, also what nobody can decode and what an older schema wrote, and the positions with their bitmaps',
    async () => {
      await filled(2_000);
      addOddities(world.path);
      const result = await copy();
      expect(result).toMatchObject({ foundEvents: 0, positions: 144 });
      expect(result?.topics.reduce((sum, { target }) => sum + target, 0)).toBe(2_003);
      await expectCopied();
    },
    timeoutMs,
  );

  it(
    'is found by time in its old part, and goes on with offsets and times of its own',
    async () => {
      await filled(600);
      await copy();
      const embedded = world.openEmbedded();
      const kafka = await world.openKafka();
      const entries = (await everythingIn(embedded)).filter(
        ({ topic, partition }) => topic === emailHigh && partition === 5,
      );
      for (const { appendedAt } of [entries[0], entries[7], entries.at(-1)].filter((entry) => entry !== undefined)) {
        const found = await kafka.offsetAt(emailHigh, 5, appendedAt);
        expect(found).toBe(await embedded.offsetAt(emailHigh, 5, appendedAt));
      }
      const before = Date.now();
      const appended = await kafka.append(requested(5, 1_000_000));
      expect(appended).toMatchObject({ kind: 'durable', position: { offset: entries.length } });
      const [entry] = (await everythingIn(kafka)).filter(
        ({ event }) => event !== null && 'recipient' in event && event.recipient === '1000000',
      );
      expect(entry?.appendedAt).toBeGreaterThanOrEqual(before - 1_000);
      await embedded.close();
    },
    timeoutMs,
  );

  it(
    'may be copied again: nothing is left to do, also after it has gone on',
    async () => {
      await filled(100);
      await copy();
      expect(await copy()).toBeNull();
      const kafka = await world.openKafka();
      await kafka.append(requested(1, 5_000));
      expect(await copy()).toBeNull();
    },
    timeoutMs,
  );
});

describe('an interrupted copy', () => {
  it(
    'goes on where it was, also when the log has grown meanwhile',
    async () => {
      await filled(20_000);
      await expect(copy(interruptedAt(5_000))).rejects.toThrow('interrupted');
      await expect(copy(interruptedAt(15_000))).rejects.toThrow('interrupted');
      const embedded = world.openEmbedded();
      await fill(embedded, 500, 20_000);
      await embedded.close();
      const result = await copy();
      expect(result?.foundEvents).toBeGreaterThanOrEqual(15_000);
      await expectCopied();
    },
    timeoutMs,
  );

  it(
    'is a log that nobody can open',
    async () => {
      await filled(500);
      await expect(copy(interruptedAt(1))).rejects.toThrow('interrupted');
      await expect(world.openKafka()).rejects.toThrow('A copy into this log has begun and is not complete');
      await copy();
      await expectCopied();
    },
    timeoutMs,
  );

  it(
    'run twice at the same time is there once',
    async () => {
      await filled(5_000);
      const results = await Promise.allSettled([copy(), copy()]);
      expect(results.map(({ status }) => status)).toContain('fulfilled');
      for (const result of results)
        if (result.status === 'rejected') expect(String(result.reason)).toContain('has completed the copy');
      await expectCopied();
    },
    timeoutMs,
  );
});

describe('a target that is no copy of the log', () => {
  it(
    'is refused when a Herald was started on it',
    async () => {
      await filled(10);
      await world.openKafka();
      await expect(copy()).rejects.toThrow('A Herald was started on this log already');
    },
    timeoutMs,
  );

  it(
    'is refused when it holds the events of another log',
    async () => {
      await filled(200);
      await expect(copy(interruptedAt(1))).rejects.toThrow('interrupted');
      const other = makeCopyWorld();
      try {
        const log = other.openEmbedded();
        await fill(log, 300);
        await log.close();
        await expect(copy({ source: other.openSource() })).rejects.toThrow('is no copy of this log');
      } finally {
        await other.remove();
      }
      await copy();
      await expectCopied();
    },
    timeoutMs,
  );

  it(
    'is refused when someone else writes into it meanwhile',
    async () => {
      await filled(200);
      await expect(copy(interruptedAt(1))).rejects.toThrow('interrupted');
      const brokers = world.environment['KAFKA_BROKERS']?.split(',') ?? [];
      const producer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).producer();
      await producer.connect();
      const topic = `${world.prefix}notifications.inbox`;
      await producer.send({ topic, messages: [{ partition: 3, value: 'foreign' }] });
      await producer.disconnect();
      await expect(copy()).rejects.toThrow('is no copy of this log');
      await expect(world.openKafka()).rejects.toThrow('is not complete');
    },
    timeoutMs,
  );
});

describe('a log that can not be copied', () => {
  it('is refused when offsets are missing, and nothing is made of the target', async () => {
    await filled(200);
    const { DatabaseSync } = await import('node:sqlite');
    const db = new DatabaseSync(world.path);
    db.exec('DELETE FROM events WHERE "offset" = 2');
    db.close();
    await expect(copy()).rejects.toThrow(/holds \d+ events below offset \d+: some are missing/);
    const log = await world.openKafka();
    expect((await log.ends(emailHigh)).every((end) => end === 0)).toBe(true);
  }, 90_000);
});
