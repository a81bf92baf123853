// What the appender sends again, and as what: a batch that may be in the log goes as the very batch that it was, until nobody waits for it.

import { beforeEach, describe, expect, it } from '@jest/globals';

import { type Appender, createAppender, defaultAppendLimits } from '../../../src/adapters/kafka/append.ts';
import type { Produced } from '../../../src/adapters/kafka/producing.ts';
import type { PartitionRecords } from '../../../src/adapters/kafka/produce-request.ts';
import { workTopic } from '../../../src/domain/topics.ts';
import { until } from '../../support/until.ts';
import { silentLogger as logger } from '../sqlite/silent-logger.ts';
import { clock } from './log-world.ts';

const topic = workTopic('SMS', 'HIGH');
const header = Buffer.alloc(0);
const id = 77n;
/** One batch that was sent: its epoch, sequence and texts. */
type Sent = readonly [epoch: number, sequence: number, ...texts: string[]];
let sent: Sent[];
/** Settles the produce that was sent last. */
let answer: (produced: Produced) => void;
/** Settle all that were sent, in their order. */
let answers: ((produced: Produced) => void)[];
let appender: Appender;
/** ms, by the appender's monotonic clock. */
let now: number;
/** Of partition 0; -1: nobody leads it. */
let leader: number;
/** Brokers tell of the topic. */
let isTold: boolean;

beforeEach(() => {
  sent = [];
  answers = [];
  now = 0;
  leader = 1;
  isTold = true;
  open();
});

function open(deadlineMs = defaultAppendLimits.deadlineMs): void {
  appender = createAppender({
    producing: {
      leaderOf: (_, partition) => (partition === 0 ? leader : 1),
      isLeaderless: (_, partition) => isTold && partition === 0 && leader < 0,
      refresh: async () => {},
      producerId: () => id,
      produce(_, records) {
        const [of] = records.flatMap(({ partitions }) => partitions);
        if (of !== undefined) sent.push(told(of));
        return new Promise((resolve) => void answers.push((answer = resolve)));
      },
      close() {},
    },
    topics: [topic],
    partitions: 3,
    nameOf: () => 'sms',
    clock: { ...clock, monotonic: () => now },
    logger,
    limits: { ...defaultAppendLimits, deadlineMs },
    onDurable() {},
    onFlush() {},
  });
}

function told({ producer, values, count }: PartitionRecords): Sent {
  expect(producer.id).toBe(id);
  const texts = values.slice(0, count).map(({ bytes }) => Buffer.from(bytes).toString());
  return [producer.epoch, producer.sequence, ...texts];
}

const append = (text: string, partition = 0) => appender.append(topic, partition, header, Buffer.from(text));
const appendMany = (text: string, partition: number) =>
  Array.from({ length: 40 }, (_, i) => append(`${text}${i}`, partition));
const lost: Produced = { kind: 'failed', wasSent: true, reason: 'the connection broke' };
const coded = (errorCode: number, baseOffset = -1): Produced => ({
  kind: 'answered',
  answer: { clientSideThrottleTime: 0, partition: () => ({ errorCode, baseOffset }) },
});
const sends = (count: number) => until(() => sent.length === count, { what: `send ${count}` });

describe('The appender', () => {
  it('refuses what nobody leads at its deadline, by a reason that names the partition, and fails for nobody else', async () => {
    open(100);
    const first = append('a');
    await sends(1);
    leader = -1;
    answer({ kind: 'failed', wasSent: false, reason: 'the connection was refused' });
    await until(() => !appender.isFailing(), { what: 'that it has heard who leads' });
    const other = append('b', 1);
    await sends(2);
    answer(coded(0, 7));
    expect((await other).kind).toBe('durable');
    now = 101;
    const reason = 'no broker leads sms, partition 0, now';
    expect(await first).toEqual({ kind: 'refused', reason, isEverywhere: true });
    leader = 1;
    const led = append('c');
    await sends(3);
    answer({ kind: 'failed', wasSent: false, reason: 'the connection was refused' });
    now = 202;
    expect(await led).toEqual({ kind: 'refused', reason: 'the connection was refused' });
  });

  it('fails while brokers tell nothing of the topic: nobody elects a leader of what is deleted', async () => {
    open(100);
    [leader, isTold] = [-1, false];
    const first = append('a');
    await until(() => appender.isFailing(), { what: 'that it fails' });
    now = 101;
    expect(await first).toEqual({ kind: 'refused', reason: 'no broker tells who leads sms, partition 0' });
  });

  it('refuses within a second once nobody has led for longer than an election takes, and takes all when somebody does', async () => {
    leader = -1;
    const first = append('a');
    now += defaultAppendLimits.deadlineMs;
    expect(await first).toMatchObject({ kind: 'refused', isEverywhere: true });
    now += 1;
    const second = append('b');
    now += 1_000;
    const reason = 'no broker leads sms, partition 0, now';
    expect(await second).toEqual({ kind: 'refused', reason, isEverywhere: true });
    leader = 1;
    const led = append('c');
    await sends(1);
    answer(coded(0, 7));
    expect((await led).kind).toBe('durable');
    leader = -1;
    const again = append('d');
    now += defaultAppendLimits.deadlineMs - 1;
    leader = 1;
    await sends(2);
    answer(coded(0, 8));
    expect((await again).kind).toBe('durable');
  });

  it('sends a batch whose answer was lost as the same batch, and what came later behind it', async () => {
    const first = [append('a'), append('b')];
    await sends(1);
    const later = append('c');
    answer(lost);
    await sends(2);
    answer(coded(0, 40));
    await sends(3);
    answer(coded(0, 42));
    expect(sent).toEqual([
      [0, 0, 'a', 'b'],
      [0, 0, 'a', 'b'],
      [0, 2, 'c'],
    ]);
    const offsets = (await Promise.all([...first, later])).map((of) => of.kind === 'durable' && of.position.offset);
    expect(offsets).toEqual([40, 41, 42]);
  });

  it('takes along what came later when surely nothing was written', async () => {
    void append('a');
    await sends(1);
    void append('b');
    answer(coded(19));
    await sends(2);
    expect(sent[1]).toEqual([0, 0, 'a', 'b']);
    answer(coded(0, 0));
  });

  it.each([3, 6, 56])(
    'sends the same batch to the next leader when the broker gave the partition up: it may have written it (error %d)',
    async (code) => {
      open(100);
      const old = append('a');
      await sends(1);
      void append('b');
      answer(coded(code));
      await sends(2);
      expect(sent[1]).toEqual([0, 0, 'a']);
      now += 100;
      answer({ kind: 'failed', wasSent: false, reason: 'the next leader is not reached' });
      expect(await old).toEqual({ kind: 'unknown', reason: 'the next leader is not reached' });
    },
  );

  it('keeps the batch as it was when its answer was lost before the broker said that it did not write', async () => {
    void append('a');
    await sends(1);
    answer(lost);
    void append('b');
    await sends(2);
    answer(coded(19));
    await sends(3);
    expect(sent[2]).toEqual([0, 0, 'a']);
    answer(coded(0, 0));
    await sends(4);
    answer(coded(0, 1));
  });

  it.each([45, 46, 47, 59])('begins an epoch when the broker does not know the sequence (error %d)', async (code) => {
    void append('a');
    await sends(1);
    answer(coded(0, 0));
    void append('b');
    await sends(2);
    answer(coded(code));
    await sends(3);
    expect(sent.slice(1)).toEqual([
      [0, 1, 'b'],
      [1, 0, 'b'],
    ]);
    answer(coded(0, 1));
    void append('c');
    await sends(4);
    expect(sent[3]).toEqual([1, 1, 'c']);
    answer(coded(0, 2));
  });

  it('begins an epoch behind a batch that was given up without an answer: it may be in the log or not', async () => {
    open(100);
    const given = append('a');
    await sends(1);
    now += 100;
    answer(lost);
    expect((await given).kind).toBe('unknown');
    void append('b');
    await sends(2);
    expect(sent[1]).toEqual([1, 0, 'b']);
    answer(coded(0, 7));
  });

  it('gives up an unanswered batch as a whole: a part of it would not be the batch that it was', async () => {
    void append('first');
    await sends(1);
    const old = append('a');
    now += 10;
    const young = append('b');
    answer(coded(0, 0));
    await sends(2);
    now += defaultAppendLimits.deadlineMs - 5;
    answer(lost);
    const unknown = { kind: 'unknown', reason: 'the connection broke' };
    expect(await Promise.all([old, young])).toEqual([unknown, unknown]);
    void append('c');
    await sends(3);
    expect(sent[2]).toEqual([1, 0, 'c']);
    answer(coded(0, 9));
  });

  it('gives up in time what was never sent, though each produce works, and goes on with what is younger', async () => {
    const first = Array.from({ length: 500 }, (_, i) => append(`first${i}`, 0));
    const overdue = [...appendMany('older', 1), ...appendMany('oldest', 2)];
    await sends(1);
    expect(sent[0]?.at(-1)).toBe('first499');
    now += 1;
    const young = append('young', 1);
    now += defaultAppendLimits.deadlineMs - 1;
    answer(coded(0, 0));
    for (const result of await Promise.all(overdue))
      expect(result).toEqual({ kind: 'refused', reason: 'more waits than the brokers take in time' });
    await sends(2);
    expect(sent[1]).toEqual([0, 0, 'young']);
    answer(coded(0, 7));
    expect(await young).toMatchObject({ kind: 'durable', position: { partition: 1, offset: 7 } });
    expect(await first.at(-1)).toMatchObject({ kind: 'durable', position: { partition: 0, offset: 499 } });
    expect(appender.queued()).toBe(0);
    void append('later', 2);
    await sends(3);
    expect(sent[2]).toEqual([0, 0, 'later']);
  });

  it('says of what it gives up why its partition fails now, not why it once did', async () => {
    void append('a');
    await sends(1);
    answer(lost);
    await sends(2);
    answer(coded(0, 0));
    const under = Array.from({ length: 500 }, (_, i) => append(`under${i}`));
    const waiting = append('waiting');
    await sends(3);
    now += defaultAppendLimits.deadlineMs;
    answer(coded(0, 1));
    expect(await waiting).toEqual({ kind: 'refused', reason: 'more waits than the brokers take in time' });
    expect((await Promise.all(under)).every(({ kind }) => kind === 'durable')).toBe(true);
  });

  it('sends what comes a few at a time beside what a batch has under way, and a batch beside those', async () => {
    const flood = appendMany('flood', 0);
    await sends(1);
    const high = append('high', 1);
    await sends(2);
    expect(sent[1]).toEqual([0, 0, 'high']);
    answers[1]?.(coded(0, 5));
    expect(await high).toMatchObject({ kind: 'durable', position: { partition: 1, offset: 5 } });
    answers[0]?.(coded(0, 100));
    expect(await flood.at(-1)).toMatchObject({ kind: 'durable', position: { partition: 0, offset: 139 } });
  });

  it('has one send of a line under way, and what becomes much while it waits for that goes at once', async () => {
    const first = append('first', 0);
    await sends(1);
    const [few, grows] = [append('few', 1), append('grows', 2)];
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toHaveLength(1);
    const grown = appendMany('grown', 2);
    await sends(2);
    expect(sent[1]?.slice(0, 4)).toEqual([0, 0, 'grows', 'grown0']);
    answers[0]?.(coded(0, 1));
    await sends(3);
    expect(sent[2]).toEqual([0, 0, 'few']);
    answers[2]?.(coded(0, 2));
    answers[1]?.(coded(0, 3));
    const all = await Promise.all([first, few, grows, ...grown]);
    expect(all.map((of) => of.kind === 'durable' && of.position.offset)).toEqual([
      1,
      2,
      3,
      ...grown.map((_, i) => 4 + i),
    ]);
  });
});
