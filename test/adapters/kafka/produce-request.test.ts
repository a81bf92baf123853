// The Produce request as bytes, read by kafkajs' own decoder of record batches; and its answer.

import { describe, expect, it } from '@jest/globals';
import crc32C from 'kafkajs/src/protocol/recordBatch/crc32C/index.js';

import { noProducer, produceRequest, produceResponse } from '../../../src/adapters/kafka/produce-request.ts';
import { readRecords } from '../../../src/adapters/kafka/record-batch.ts';
import fc from '../../support/properties.ts';

const timeMs = 1_795_000_000_000;

describe('a produce request', () => {
  it('holds every record under its topic and partition, whatever their number and size', async () => {
    const values = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 200 });
    const topics = fc.array(
      fc.record({
        name: fc.stringMatching(/^[a-zé.-]{1,20}$/),
        partitions: fc.array(values, { minLength: 1, maxLength: 4 }),
      }),
      { minLength: 1, maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(topics, async (asked) => {
        const header = Buffer.from([0, 1, 2, 3, 4]);
        const request = produceRequest(
          asked.map(({ name, partitions }) => ({
            name,
            partitions: partitions.map((of, partition) => ({
              partition,
              producer: noProducer,
              values: of.map((bytes) => ({ header, bytes })),
              count: of.length,
            })),
          })),
          2500,
          timeMs,
        );
        const { buffer } = await request.encode();
        const expected = asked.flatMap(({ name, partitions }) =>
          partitions.map((of, partition) => ({
            name,
            partition,
            values: of.map((bytes) => Buffer.concat([header, bytes])),
          })),
        );
        expect(parse(buffer)).toEqual(expected);
      }),
      { numRuns: 20 },
    );
  });

  it('sends the first ones of a queue, as many as it is told', async () => {
    const values = ['a', 'b', 'c'].map((text) => ({ header: Buffer.alloc(0), bytes: Buffer.from(text) }));
    const { buffer } = await produceRequest(
      [{ name: 't', partitions: [{ partition: 7, producer: noProducer, values, count: 2 }] }],
      1,
      1,
    ).encode();
    expect(parse(buffer)).toEqual([{ name: 't', partition: 7, values: [Buffer.from('a'), Buffer.from('b')] }]);
  });

  it('says whose batch it is, by which the broker knows one that it has', async () => {
    const values = [{ header: Buffer.alloc(0), bytes: Buffer.from('a') }];
    const producer = { id: 2n ** 40n + 3n, epoch: 7, sequence: 2 ** 31 - 1 };
    const { buffer } = await produceRequest(
      [{ name: 't', partitions: [{ partition: 0, producer, values, count: 1 }] }],
      1,
      1,
    ).encode();
    const batch = buffer.subarray(12 + 2 + 1 + 4 + 8);
    expect([batch.readBigInt64BE(43), batch.readInt16BE(51), batch.readInt32BE(53)]).toEqual(Object.values(producer));
  });
});

describe('the answer to a produce', () => {
  it('says of each partition what became of it, and nothing of those that are missing', async () => {
    const name = Buffer.from('topic');
    const partition = (number: number, code: number, offset: bigint) => {
      const bytes = Buffer.alloc(30);
      bytes.writeInt32BE(number);
      bytes.writeInt16BE(code, 4);
      bytes.writeBigInt64BE(offset, 6);
      return bytes;
    };
    const head = Buffer.alloc(6);
    head.writeInt32BE(1);
    head.writeInt16BE(name.length, 4);
    const count = Buffer.alloc(4);
    count.writeInt32BE(2);
    const throttle = Buffer.alloc(4);
    throttle.writeInt32BE(17);
    const payload = Buffer.concat([head, name, count, partition(3, 0, 2n ** 40n), partition(5, 6, -1n), throttle]);
    const answer = await produceResponse.decode(payload);
    expect(answer.partition('topic', 3)).toEqual({ errorCode: 0, baseOffset: 2 ** 40 });
    expect(answer.partition('topic', 5)).toEqual({ errorCode: 6, baseOffset: -1 });
    expect(answer.partition('topic', 4)).toBeUndefined();
    expect(answer.partition('other', 3)).toBeUndefined();
    expect(answer.clientSideThrottleTime).toBe(17);
  });
});

/** Checks each batch's length and checksum on the way. */
function parse(body: Buffer): { name: string; partition: number; values: Buffer[] }[] {
  const found: { name: string; partition: number; values: Buffer[] }[] = [];
  expect(body.readInt16BE(0)).toBe(-1);
  expect(body.readInt16BE(2)).toBe(-1);
  let at = 12;
  for (let topics = body.readInt32BE(8); topics > 0; topics--) {
    const end = at + 2 + body.readInt16BE(at);
    const name = body.toString('utf8', at + 2, end);
    at = end + 4;
    for (let partitions = body.readInt32BE(end); partitions > 0; partitions--) {
      const partition = body.readInt32BE(at);
      const batch = body.subarray(at + 8, at + 8 + body.readInt32BE(at + 4));
      expect(batch.readInt32BE(8)).toBe(batch.length - 12);
      expect(batch.readUInt32BE(17)).toBe(crc32C(batch.subarray(21)));
      const { records } = readRecords(batch, 0);
      expect(records.map(({ offset }) => offset)).toEqual(records.map((_, n) => n));
      found.push({ name, partition, values: records.map(({ value }) => Buffer.from(value)) });
      at += 8 + batch.length;
    }
  }
  expect(at).toBe(body.length);
  return found;
}
