// Reading record batches, checked against kafkajs' own writer.

import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';

import { readRecords } from '../../../src/adapters/kafka/record-batch.ts';
import fc from '../../support/properties.ts';
import { type Batch, batchOf } from './batches.ts';

const logAppendTime = 0x8;
const codecs = { none: 0, gzip: 1, snappy: 2, zstd: 4 };

/** The batch with its records compressed. */
function compressed(batch: Buffer, codec: number, by: (bytes: Buffer) => Buffer): Buffer {
  const whole = Buffer.concat([batch.subarray(0, 61), by(batch.subarray(61))]);
  whole.writeInt32BE(whole.length - 12, 8);
  whole.writeInt16BE(codec, 21);
  return whole;
}

const anyBytes = fc.option(fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)));
const anyBatch = fc.record({
  base: fc.nat(2 ** 31).map((n) => n * 1000),
  time: fc.integer({ min: 1_500_000_000_000, max: 2_500_000_000_000 }),
  values: fc.array(fc.record({ value: anyBytes, key: anyBytes, later: fc.integer({ min: 0, max: 2 ** 40 }) }), {
    minLength: 1,
    maxLength: 20,
  }),
});
const three: Batch = {
  base: 70,
  time: 1_700_000_000_000,
  values: [1, 2, 3].map((n) => ({ value: Buffer.from(`value ${n}`), key: null, later: n })),
};

describe('record batches', () => {
  it('are read as they were written: offsets, times, values', async () => {
    await fc.assert(
      fc.asyncProperty(anyBatch, async (batch) => {
        const { records, next } = readRecords(await batchOf(batch), batch.base);
        expect(next).toBe(batch.base + batch.values.length);
        expect(records.map(({ offset, appendedAt, value }) => [offset, appendedAt, value.toString('hex')])).toEqual(
          batch.values.map(({ value, later }, n) => [batch.base + n, batch.time + later, value?.toString('hex') ?? '']),
        );
      }),
    );
  });

  it('carry the time at which the log took them, where the topic is set so', async () => {
    const { records } = readRecords(await batchOf(three, logAppendTime), 70);
    expect(records.map(({ appendedAt }) => appendedAt)).toEqual([1, 2, 3].map(() => three.time + 1_000_000));
  });

  it('are read from the offset asked for on, and a batch that is cut off is left for the next fetch', async () => {
    const [first, second] = [await batchOf(three), await batchOf({ ...three, base: 73 })];
    const both = Buffer.concat([first, second]);
    expect(readRecords(both, 72).records.map(({ offset }) => offset)).toEqual([72, 73, 74, 75]);
    for (let length = first.length; length < both.length; length++) {
      const { records, next } = readRecords(both.subarray(0, length), 71);
      expect(records.map(({ offset }) => offset)).toEqual([71, 72]);
      expect(next).toBe(73);
    }
    expect(readRecords(first.subarray(0, 40), 71)).toEqual({ records: [], next: 71 });
  });

  it('may be compressed by gzip or zstd; another codec is refused by its number', async () => {
    const plain = await batchOf(three);
    const { records } = readRecords(plain, 70);
    for (const [codec, by] of [[codecs.gzip, gzipSync] as const, [codecs.zstd, zstdCompressSync] as const]) {
      expect(readRecords(compressed(plain, codec, by), 70).records).toEqual(records);
    }
    expect(() =>
      readRecords(
        compressed(plain, codecs.snappy, (bytes) => bytes),
        70,
      ),
    ).toThrow('compression 2');
  });

  it('of control records hold nothing and are passed over', async () => {
    expect(readRecords(await batchOf(three, 0x20), 70)).toEqual({ records: [], next: 73 });
  });

  it('that begin beyond what is next are refused: what lies between was not read', async () => {
    const [first, third] = [await batchOf(three), await batchOf({ ...three, base: 76 })];
    expect(() => readRecords(first, 69)).toThrow('offset 69 is to be read next, but what was read begins at 70');
    expect(() => readRecords(Buffer.concat([first, third]), 71)).toThrow('begins at 76');
  });

  it('that are none are refused', async () => {
    const bytes = await batchOf(three);
    bytes.writeInt8(1, 16);
    expect(() => readRecords(bytes, 70)).toThrow('message format 1');
    bytes.writeInt32BE(-5, 8);
    expect(() => readRecords(bytes, 70)).toThrow('impossible length');
  });
});
