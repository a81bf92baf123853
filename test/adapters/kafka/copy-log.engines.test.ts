// An embedded log copied into Kafka: nothing tells the two apart, whatever happens in between.

import { isDeepStrictEqual } from 'node:util';

import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigResourceTypes, Kafka, logLevel } from 'kafkajs';

import { workTopic } from '../../../src/domain/topics.ts';
import { trimEventsMax } from '../../../src/ports/event-log.ts';
import type { CopyLogDependencies } from '../../../src/replay/copy-log.ts';
import { copyLog } from '../../../src/replay/copy-log.ts';
import { makeShare } from '../../support/engines-share.ts';
import { requested } from '../../support/requested.ts';
import type { CopyWorld } from './copy-world.ts';
import { addOddities, emailHigh, everythingIn, fill, finishSome, makeCopyWorld, positionsIn } from './copy-world.ts';

const timeoutMs = 90_000;
const emailBulk = workTopic('EMAIL', 'BULK');

/** By turns, since a broker needs some seconds until it has forgotten a topic for good: with schemas of its own each test would take twice as long. */
const shares = [makeShare(), makeShare()] as const;
let tests = 0;
let world: CopyWorld;
beforeEach(() => {
  world = makeCopyWorld(shares[tests++ % 2 === 0 ? 0 : 1]);
});
afterEach(() => world.remove(), timeoutMs);
afterAll(async () => {
  for (const share of shares) await share.remove();
});

const copy = (more: Partial<CopyLogDependencies> = {}) =>
  copyLog({
    source: world.openSource(),
    target: world.openTarget(),
    copySettings: async () => {},
    onProgress: () => {},
    ...more,
  });

const brokersOf = () => world.environment['KAFKA_BROKERS']?.split(',') ?? [];

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

/** As retention leaves a log: beginnings, whole partitions and single events in between and at the end are gone. */
const trimmed = async (count: number): Promise<void> => {
  await filled(count);
  const log = world.openEmbedded();
  const keepsOf = (partition: number, end: number): readonly number[] => {
    if (partition % 4 === 0) return [];
    const from = partition % 4 === 1 ? 0 : Math.floor(end / 3);
    return Array.from({ length: end }, (_, offset) => offset).filter((offset) => offset >= from && offset % 7 === 3);
  };
  for (const topic of [emailHigh, emailBulk]) {
    for (const [partition, end] of (await log.ends(topic)).entries()) {
      const kept = keepsOf(partition, end);
      for (let from = 0; from < end; from += trimEventsMax) {
        const to = Math.min(end, from + trimEventsMax);
        const some = kept.filter((offset) => offset >= from && offset < to);
        await log.trim({ topic, partition, from, to, kept: some });
      }
    }
  }
  await log.close();
};

describe('a log that retention has trimmed', () => {
  it(
    'is copied with what is left of it, each at its offset, beginnings and ends, positions and times',
    async () => {
      await trimmed(3_000);
      const source = world.openSource();
      const gone = await source.gone();
      expect(gone).toBeGreaterThan(2_000);
      expect(await copy()).toMatchObject({ foundEvents: 0, goneEvents: gone });
      await expectCopied();
      const embedded = world.openEmbedded();
      const kafka = await world.openKafka();
      for (const topic of [emailHigh, emailBulk]) {
        expect(await kafka.starts(topic)).toEqual(await embedded.starts(topic));
        expect(await kafka.ends(topic)).toEqual(await embedded.ends(topic));
        for (const { partition, appendedAt } of (await everythingIn(embedded)).filter((entry) => entry.topic === topic))
          expect(await kafka.offsetAt(topic, partition, appendedAt)).toBe(
            await embedded.offsetAt(topic, partition, appendedAt),
          );
      }
      const [end = 0] = await embedded.ends(emailHigh);
      expect(await kafka.append(requested(0, 1_000_000))).toMatchObject({ kind: 'durable', position: { offset: end } });
      await embedded.close();
    },
    timeoutMs,
  );

  it(
    'is copied once however often that is interrupted, and found to be complete also after the copy has let go of more',
    async () => {
      await trimmed(3_000);
      for (const events of [1, 40, 900, 2_500])
        await expect(copy(interruptedAt(events))).rejects.toThrow('interrupted');
      await copy();
      await expectCopied();
      expect(await copy()).toBeNull();
      const kafka = await world.openKafka();
      const [, , to = 0] = await kafka.ends(emailHigh);
      await kafka.trim({ topic: emailHigh, partition: 2, from: 0, to, kept: [] });
      expect((await kafka.starts(emailHigh))[2]).toBe(to);
      expect(await copy()).toBeNull();
    },
    timeoutMs,
  );
});

describe('topics that were made beforehand with a retention of 7 days', () => {
  it(
    'keep what is copied into them, however old it is',
    async () => {
      await filled(200);
      const admin = new Kafka({ brokers: brokersOf(), logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      const configEntries = [{ name: 'retention.ms', value: String(7 * 24 * 60 * 60 * 1000) }];
      const made = { topic: world.prefix + emailHigh, numPartitions: 12, configEntries };
      await admin.createTopics({ topics: [made], waitForLeaders: false });
      await copy();
      const resources = [{ type: ConfigResourceTypes.TOPIC, name: world.prefix + emailHigh }];
      const described = await admin.describeConfigs({ resources, includeSynonyms: false });
      const of = described.resources[0]?.configEntries.find(({ configName }) => configName === 'retention.ms');
      expect(of?.configValue).toBe('-1');
      await admin.disconnect();
      await expectCopied();
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
      const others = makeShare();
      const other = makeCopyWorld(others);
      try {
        const log = other.openEmbedded();
        await fill(log, 300);
        await log.close();
        await expect(copy({ source: other.openSource() })).rejects.toThrow('is no copy of this log');
      } finally {
        await other.remove();
        await others.remove();
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
      const producer = new Kafka({ brokers: brokersOf(), logLevel: logLevel.NOTHING }).producer();
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
    await expect(copy()).rejects.toThrow(/holds \d+ events from offset 0 on, below offset \d+: some are missing/);
    const log = await world.openKafka();
    expect((await log.ends(emailHigh)).every((end) => end === 0)).toBe(true);
  }, 90_000);
});
