// The Fetch request and its answer, checked against kafkajs' own of the same version.

import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';

import { decodeFetchAnswer, fetchMessages, type FetchRequest } from '../../../src/adapters/kafka/fetch-wire.ts';
import fc from '../../support/properties.ts';

const require = createRequire(import.meta.url);
const kafkajsRequest = require('kafkajs/src/protocol/requests/fetch/v11/request.js') as (of: object) => {
  apiKey: number;
  apiVersion: number;
  encode(): Promise<{ buffer: Buffer }>;
};
const Encoder = require('kafkajs/src/protocol/encoder.js') as new () => KafkajsEncoder;

interface KafkajsEncoder {
  readonly buffer: Buffer;
  writeInt32(value: number): KafkajsEncoder;
  writeInt16(value: number): KafkajsEncoder;
  writeInt64(value: number): KafkajsEncoder;
  writeString(value: string): KafkajsEncoder;
  writeBytes(value: Buffer | null): KafkajsEncoder;
  writeArray(values: readonly KafkajsEncoder[]): KafkajsEncoder;
}

const topic = fc.constantFrom('a.topic', 'another', 'b');
const place = fc.record({ topic, partition: fc.nat(200) });
const anyRequest = fc.record({
  waitMaxMs: fc.nat(5000),
  bytesMin: fc.nat(10),
  bytesMax: fc.nat(2 ** 30),
  partitionBytesMax: fc.nat(2 ** 30),
  sessionId: fc.nat(2 ** 30),
  sessionEpoch: fc.integer({ min: -1, max: 1000 }),
  partitions: fc.array(fc.record({ topic, partition: fc.nat(200), offset: fc.maxSafeNat() }), { maxLength: 20 }),
  forgotten: fc.array(place, { maxLength: 20 }),
});

describe('a Fetch request', () => {
  it('is, byte for byte, what kafkajs would write', async () => {
    await fc.assert(
      fc.asyncProperty(anyRequest, async (of: FetchRequest) => {
        const { request } = fetchMessages(of);
        const theirs = kafkajsRequest({
          replicaId: -1,
          maxWaitTime: of.waitMaxMs,
          minBytes: of.bytesMin,
          maxBytes: of.bytesMax,
          isolationLevel: 0,
          sessionId: of.sessionId,
          sessionEpoch: of.sessionEpoch,
          topics: byTopic(of.partitions).map(({ name, places }) => ({
            topic: name,
            partitions: places.map(({ partition, offset }) => ({
              partition,
              fetchOffset: String(offset),
              maxBytes: of.partitionBytesMax,
            })),
          })),
          forgottenTopics: byTopic(of.forgotten).map(({ name, places }) => ({
            topic: name,
            partitions: places.map(({ partition }) => partition),
          })),
        });
        expect(request.apiKey).toBe(theirs.apiKey);
        expect(request.apiVersion).toBe(theirs.apiVersion);
        const { buffer } = await request.encode();
        expect(buffer.toString('hex')).toBe((await theirs.encode()).buffer.toString('hex'));
      }),
    );
  });
});

describe('the answer to a fetch', () => {
  it('is read partition by partition, errors and aborted transactions included', () => {
    const partition = (number: number, errorCode: number, end: number, records: Buffer | null, aborted: number) =>
      new Encoder()
        .writeInt32(number)
        .writeInt16(errorCode)
        .writeInt64(end)
        .writeInt64(end)
        .writeInt64(0)
        .writeArray(Array.from({ length: aborted }, () => new Encoder().writeInt64(1).writeInt64(2)))
        .writeInt32(-1)
        .writeBytes(records);
    const bytes = new Encoder()
      .writeInt32(17)
      .writeInt16(0)
      .writeInt32(99)
      .writeArray([
        new Encoder().writeString('a').writeArray([partition(0, 0, 5_000_000_000, Buffer.from('records'), 0)]),
        new Encoder().writeString('b').writeArray([partition(3, 6, -1, null, 0), partition(4, 0, 7, null, 2)]),
      ]).buffer;
    const none = Buffer.alloc(0);
    expect(decodeFetchAnswer(bytes)).toEqual({
      clientSideThrottleTime: 17,
      errorCode: 0,
      sessionId: 99,
      partitions: [
        { topic: 'a', partition: 0, errorCode: 0, highWatermark: 5_000_000_000, bytes: Buffer.from('records') },
        { topic: 'b', partition: 3, errorCode: 6, highWatermark: -1, bytes: none },
        { topic: 'b', partition: 4, errorCode: 0, highWatermark: 7, bytes: none },
      ],
    });
  });
});

function byTopic<P extends { readonly topic: string }>(places: readonly P[]): { name: string; places: P[] }[] {
  const names = [...new Set(places.map((of) => of.topic))];
  return names.map((name) => ({ name, places: places.filter((of) => of.topic === name) }));
}
