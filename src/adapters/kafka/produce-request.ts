// The Produce request and its answer (version 7, Kafka >= 2.1), written straight into one buffer: kafkajs' own encoder makes several buffers of each
// record, and throws for the first failed partition where we need to know about each.
//
//   request: transactional id (none), acks, timeout, [topic, [partition, record batch]]
//   record batch (magic 2): 61 bytes of header, then per record: length, attributes, time, offset, key (none), value, headers (none)
//   value: the Confluent wire format, 5 bytes (0, schema id) and the datum

import type { ProtocolRequest, ProtocolResponse } from 'kafkajs/src/cluster/index.js';
import crc32C from 'kafkajs/src/protocol/recordBatch/crc32C/index.js';

export interface RecordValue {
  /** The first bytes of the value: which schema wrote the rest. */
  readonly header: Buffer;
  readonly bytes: Uint8Array;
}

/** Who appends a batch, by which the broker knows one that it already has (KIP-98). */
export interface BatchProducer {
  readonly id: bigint;
  readonly epoch: number;
  /** Of the batch's first record, counted by partition; 31 bits. */
  readonly sequence: number;
}

/** The broker appends such a batch as often as it comes. */
export const noProducer: BatchProducer = { id: -1n, epoch: -1, sequence: -1 };

/** The records for one partition: `count` of them, from the start of `values`. */
export interface PartitionRecords {
  readonly partition: number;
  readonly producer: BatchProducer;
  readonly values: readonly RecordValue[];
  readonly count: number;
}

export interface TopicRecords {
  /** As the broker knows it. */
  readonly name: string;
  readonly partitions: readonly PartitionRecords[];
}

export interface ProducedPartition {
  readonly errorCode: number;
  /** Of the first record; -1 when there was an error. */
  readonly baseOffset: number;
}

export interface ProduceAnswer {
  /** kafkajs holds requests back for so long, in ms, when a quota is reached. */
  readonly clientSideThrottleTime: number;
  partition(name: string, partition: number): ProducedPartition | undefined;
}

const produceKey = 0;
const produceVersion = 7;
const acksOfAll = -1;
const batchHeaderBytes = 61;
/** Behind the offset and the length, which are not counted in the length. */
const batchUncountedBytes = 12;
const crcAt = 17;
const crcFrom = 21;
const magic = 2;

/** `timeMs`: UTC; the broker replaces it by its own (LogAppendTime). */
export function produceRequest(topics: readonly TopicRecords[], timeoutMs: number, timeMs: number): ProtocolRequest {
  const body = encodeBody(topics, timeoutMs, timeMs);
  return {
    apiKey: produceKey,
    apiVersion: produceVersion,
    apiName: 'Produce',
    encode: async () => ({ buf: body, buffer: body }),
  };
}

export const produceResponse: ProtocolResponse<ProduceAnswer> = {
  decode: async (payload) => decodeAnswer(payload),
  parse: async (answer) => answer,
};

function encodeBody(topics: readonly TopicRecords[], timeoutMs: number, timeMs: number): Buffer {
  const body = Buffer.allocUnsafe(sizeOfBody(topics));
  let at = body.writeInt16BE(-1, 0);
  at = body.writeInt16BE(acksOfAll, at);
  at = body.writeInt32BE(timeoutMs, at);
  at = body.writeInt32BE(topics.length, at);
  for (const { name, partitions } of topics) {
    at = body.writeInt16BE(Buffer.byteLength(name), at);
    at += body.write(name, at);
    at = body.writeInt32BE(partitions.length, at);
    for (const records of partitions) {
      at = body.writeInt32BE(records.partition, at);
      at = writeBatch(body, at + 4, records, BigInt(timeMs), at);
    }
  }
  return body;
}

function sizeOfBody(topics: readonly TopicRecords[]): number {
  let size = 12;
  for (const { name, partitions } of topics) {
    size += 2 + Buffer.byteLength(name) + 4;
    for (const records of partitions) size += 8 + batchHeaderBytes + sizeOfRecords(records);
  }
  return size;
}

function sizeOfRecords({ values, count }: PartitionRecords): number {
  let size = 0;
  for (let n = 0; n < count; n++) {
    const record = sizeOfRecord(values[n], n);
    size += sizeOfVarint(record) + record;
  }
  return size;
}

/** Attributes, time, offset, no key, the value with its length, no headers. */
function sizeOfRecord(value: RecordValue | undefined, offset: number): number {
  const length = valueLength(value);
  return 4 + sizeOfVarint(offset) + sizeOfVarint(length) + length;
}

function valueLength(value: RecordValue | undefined): number {
  return value === undefined ? 0 : value.header.length + value.bytes.length;
}

/** Writes the batch from `start` on and its size at `sizeAt`; returns where it ends. */
function writeBatch(body: Buffer, start: number, records: PartitionRecords, timeMs: bigint, sizeAt: number): number {
  const { values, count, producer } = records;
  let at = start + batchHeaderBytes;
  for (let n = 0; n < count; n++) at = writeRecord(body, at, values[n], n);
  const size = at - start;
  body.writeInt32BE(size, sizeAt);
  body.writeBigInt64BE(0n, start);
  body.writeInt32BE(size - batchUncountedBytes, start + 8);
  body.writeInt32BE(-1, start + 12); // leader epoch: the broker's to set
  body.writeInt8(magic, start + 16);
  body.writeInt16BE(0, start + 21); // no compression, no transaction
  body.writeInt32BE(count - 1, start + 23);
  body.writeBigInt64BE(timeMs, start + 27);
  body.writeBigInt64BE(timeMs, start + 35);
  body.writeBigInt64BE(producer.id, start + 43);
  body.writeInt16BE(producer.epoch, start + 51);
  body.writeInt32BE(producer.sequence, start + 53);
  body.writeInt32BE(count, start + 57);
  body.writeUInt32BE(crc32C(body.subarray(start + crcFrom, at)), start + crcAt);
  return at;
}

function writeRecord(body: Buffer, start: number, value: RecordValue | undefined, offset: number): number {
  let at = writeVarint(body, start, sizeOfRecord(value, offset));
  body[at++] = 0; // attributes
  body[at++] = 0; // time: as the batch's
  at = writeVarint(body, at, offset);
  body[at++] = 1; // no key: -1, zigzag
  at = writeVarint(body, at, valueLength(value));
  if (value !== undefined) {
    body.set(value.header, at);
    body.set(value.bytes, at + value.header.length);
    at += valueLength(value);
  }
  body[at++] = 0; // no headers
  return at;
}

/** Zigzag, of a number >= 0 below 2^30. */
function writeVarint(body: Buffer, start: number, value: number): number {
  let at = start;
  let rest = value << 1;
  for (; rest > 0x7f; rest >>>= 7) body[at++] = (rest & 0x7f) | 0x80;
  body[at++] = rest;
  return at;
}

function sizeOfVarint(value: number): number {
  let size = 1;
  for (let rest = value << 1; rest > 0x7f; rest >>>= 7) size++;
  return size;
}

/** [topic, [partition, error code, base offset, append time, log start]], throttle time */
function decodeAnswer(payload: Buffer): ProduceAnswer {
  const topics = new Map<string, Map<number, ProducedPartition>>();
  let at = 4;
  for (let left = payload.readInt32BE(0); left > 0; left--) {
    const nameEnd = at + 2 + payload.readInt16BE(at);
    const name = payload.toString('utf8', at + 2, nameEnd);
    const partitions = new Map<number, ProducedPartition>();
    topics.set(name, partitions);
    at = nameEnd + 4;
    for (let more = payload.readInt32BE(nameEnd); more > 0; more--) {
      const baseOffset = Number(payload.readBigInt64BE(at + 6));
      partitions.set(payload.readInt32BE(at), { errorCode: payload.readInt16BE(at + 4), baseOffset });
      at += 30;
    }
  }
  return {
    clientSideThrottleTime: payload.readInt32BE(at),
    partition: (name, partition) => topics.get(name)?.get(partition),
  };
}
