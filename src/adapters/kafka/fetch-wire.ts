// The Fetch request (API key 1, version 11: Kafka 2.3 to 4.x) as bytes, and its answer. kafkajs sends it: its own encoding knows no
// incremental sessions, names every partition in every request and throws for the first partition with an error.

import type { ProtocolRequest, ProtocolResponse } from 'kafkajs/src/cluster/index.js';

export interface FetchPartition {
  /** As the brokers call it. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface FetchRequest {
  /** How long the broker waits for `bytesMin`. */
  readonly waitMaxMs: number;
  readonly bytesMin: number;
  readonly bytesMax: number;
  readonly partitionBytesMax: number;
  /** 0 and epoch 0: begin a session; 0 and -1: none. */
  readonly sessionId: number;
  readonly sessionEpoch: number;
  readonly partitions: readonly FetchPartition[];
  /** What leaves the session. */
  readonly forgotten: readonly { readonly topic: string; readonly partition: number }[];
}

export interface FetchedPartition {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
  /** -1 with most errors. */
  readonly highWatermark: number;
  /** Record batches, the last one perhaps cut off. */
  readonly bytes: Buffer;
}

export interface FetchAnswer {
  /** By this name kafkajs finds it and waits. */
  readonly clientSideThrottleTime: number;
  readonly errorCode: number;
  /** 0: no session was made. */
  readonly sessionId: number;
  readonly partitions: readonly FetchedPartition[];
}

const apiKey = 1;
const apiVersion = 11;
/** Nothing here is transactional: what is replicated is there. */
const readUncommitted = 0;
const headBytes = 4 * 4 + 1 + 4 * 2;
const partitionBytes = 4 + 4 + 8 + 8 + 4;

export function fetchMessages(of: FetchRequest): {
  request: ProtocolRequest;
  response: ProtocolResponse<FetchAnswer>;
} {
  const bytes = encode(of);
  return {
    request: { apiKey, apiVersion, apiName: 'Fetch', encode: async () => ({ buf: bytes, buffer: bytes }) },
    response: { decode: async (payload) => decodeFetchAnswer(payload), parse: async (answer) => answer },
  };
}

function encode(of: FetchRequest): Buffer {
  const topics = byTopic(of.partitions);
  const forgotten = byTopic(of.forgotten);
  const writer = createWriter(
    headBytes + 4 + sizeOf(topics, partitionBytes) + 4 + sizeOf(forgotten, Int32Array.BYTES_PER_ELEMENT) + 2,
  );
  writer.int32(-1);
  writer.int32(of.waitMaxMs);
  writer.int32(of.bytesMin);
  writer.int32(of.bytesMax);
  writer.int8(readUncommitted);
  writer.int32(of.sessionId);
  writer.int32(of.sessionEpoch);
  writer.int32(topics.size);
  for (const [topic, partitions] of topics) {
    writer.string(topic);
    writer.int32(partitions.length);
    for (const { partition, offset } of partitions) {
      writer.int32(partition);
      writer.int32(-1);
      writer.int64(offset);
      writer.int64(-1);
      writer.int32(of.partitionBytesMax);
    }
  }
  writer.int32(forgotten.size);
  for (const [topic, partitions] of forgotten) {
    writer.string(topic);
    writer.int32(partitions.length);
    for (const { partition } of partitions) writer.int32(partition);
  }
  writer.string('');
  return writer.bytes();
}

export function decodeFetchAnswer(payload: Buffer): FetchAnswer {
  let at = 0;
  const int32 = () => {
    at += 4;
    return payload.readInt32BE(at - 4);
  };
  const int16 = () => {
    at += 2;
    return payload.readInt16BE(at - 2);
  };
  const int64 = () => int32() * 0x1_0000_0000 + (int32() >>> 0);
  const slice = (length: number) => {
    at += length;
    return payload.subarray(at - length, at);
  };

  const clientSideThrottleTime = int32();
  const errorCode = int16();
  const sessionId = int32();
  const partitions: FetchedPartition[] = [];
  for (let topics = int32(); topics > 0; topics--) {
    const topic = slice(int16()).toString('utf8');
    for (let count = int32(); count > 0; count--) {
      const partition = int32();
      const partitionError = int16();
      const highWatermark = int64();
      // Last stable offset, start of the log; aborted transactions (two numbers each); preferred read replica.
      slice(16);
      slice(Math.max(0, int32()) * 16);
      slice(4);
      const bytes = slice(Math.max(0, int32()));
      partitions.push({ topic, partition, errorCode: partitionError, highWatermark, bytes });
    }
  }
  return { clientSideThrottleTime, errorCode, sessionId, partitions };
}

function byTopic<P extends { readonly topic: string }>(partitions: readonly P[]): Map<string, P[]> {
  const topics = new Map<string, P[]>();
  for (const partition of partitions) {
    const of = topics.get(partition.topic);
    if (of === undefined) topics.set(partition.topic, [partition]);
    else of.push(partition);
  }
  return topics;
}

/** Topic names on Kafka are ASCII. */
function sizeOf(topics: ReadonlyMap<string, readonly unknown[]>, each: number): number {
  let size = 0;
  for (const [topic, partitions] of topics) size += 2 + topic.length + 4 + partitions.length * each;
  return size;
}

function createWriter(size: number) {
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  const int32 = (value: number) => {
    at = bytes.writeInt32BE(value, at);
  };
  return {
    int8(value: number) {
      at = bytes.writeInt8(value, at);
    },
    int32,
    int64(value: number) {
      int32(Math.floor(value / 0x1_0000_0000));
      at = bytes.writeUInt32BE(value >>> 0, at);
    },
    string(value: string) {
      at = bytes.writeInt16BE(value.length, at);
      at += bytes.write(value, at, 'latin1');
    },
    bytes: () => bytes.subarray(0, at),
  };
}
