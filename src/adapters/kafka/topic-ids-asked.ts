// Asks a broker for the ids of topics: a topic that is deleted and made again has another one under the same name. The Metadata request (API key 3) in version
// 10, Kafka 2.8 to 4.x: kafkajs knows it up to 6, without ids. Compact forms: lengths are varints of one more, and tagged fields (none) end each part.

import type { Broker, ProtocolRequest, ProtocolResponse } from 'kafkajs/src/cluster/index.js';

import type { LogCluster } from './log-cluster.ts';

const apiKey = 3;
const apiVersion = 10;
const idBytes = 16;
const noTags = Buffer.of(0);
const no = Buffer.of(0);

/** By the topics' names; null: the broker is older than ids, or has none of some topic. @throws Error when it can't say now */
export async function topicIdsOf(
  cluster: Pick<LogCluster, 'askAnyone'>,
  names: readonly string[],
): Promise<ReadonlyMap<string, string> | null> {
  return cluster.askAnyone(async (broker) => {
    if (!knowsIds(broker)) return null;
    const { topics } = await broker.connectionPool.send({ request: requestOf(names), response });
    const ids = new Map(topics.map(({ name, id }) => [name, id]));
    const missing = names.find((name) => !ids.has(name));
    if (missing !== undefined) throw new Error(`the broker does not know ${missing} yet`);
    return [...ids.values()].includes(noId) ? null : ids;
  });
}

/** Of a topic that was made before there were ids, on a cluster that doesn't give them yet. */
const noId = '0'.repeat(2 * idBytes);

function knowsIds({ versions }: Broker): boolean {
  return (versions?.[apiKey]?.maxVersion ?? 0) >= apiVersion;
}

interface TopicIdsAnswer {
  readonly clientSideThrottleTime: number;
  /** Those that the broker knows; the id in hexadecimal digits. */
  readonly topics: readonly { readonly name: string; readonly id: string }[];
}

/** The first byte ends the request's header, which kafkajs writes as older versions have it. */
function requestOf(names: readonly string[]): ProtocolRequest {
  const topics = names.flatMap((name) => [
    Buffer.alloc(idBytes),
    varint(Buffer.byteLength(name) + 1),
    Buffer.from(name),
    noTags,
  ]);
  const bytes = Buffer.concat([noTags, varint(names.length + 1), ...topics, no, no, no, noTags]);
  return { apiKey, apiVersion, apiName: 'Metadata', encode: async () => ({ buf: bytes, buffer: bytes }) };
}

const response: ProtocolResponse<TopicIdsAnswer> = {
  decode: async (payload) => decodeTopicIds(payload),
  parse: async (answer) => answer,
};

/**
 *   header's tags, throttle time, [node, host, port, rack, tags], cluster id, controller,
 *   [error, name, id, is internal, [error, number, leader, epoch, [replica], [in sync], [offline], tags], operations, tags], operations, tags
 */
function decodeTopicIds(payload: Buffer): TopicIdsAnswer {
  const reader = createReader(payload);
  reader.tags();
  const clientSideThrottleTime = reader.int32();
  reader.each(() => {
    reader.int32();
    reader.text();
    reader.int32();
    reader.text();
    reader.tags();
  });
  reader.text();
  reader.int32();
  const topics = reader.each(() => {
    const error = reader.int16();
    const name = reader.text();
    const id = reader.bytes(idBytes).toString('hex');
    reader.bytes(1);
    reader.each(() => {
      reader.int16();
      for (let i = 0; i < 3; i++) reader.int32();
      for (let i = 0; i < 3; i++) reader.each(() => reader.int32());
      reader.tags();
    });
    reader.int32();
    reader.tags();
    return { error, name, id };
  });
  return {
    clientSideThrottleTime,
    topics: topics.filter(({ error }) => error === 0).map(({ name, id }) => ({ name, id })),
  };
}

function createReader(payload: Buffer) {
  let at = 0;
  const bytes = (count: number): Buffer => {
    if (at + count > payload.length) throw new Error('the answer about topics ends too early');
    at += count;
    return payload.subarray(at - count, at);
  };
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes(1).readUInt8();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  return {
    bytes,
    int16: () => bytes(2).readInt16BE(),
    int32: () => bytes(4).readInt32BE(),
    /** Nothing where it may be absent: ''. */
    text: () => bytes(Math.max(varint() - 1, 0)).toString(),
    each: <T>(one: () => T): T[] => Array.from({ length: Math.max(varint() - 1, 0) }, one),
    tags() {
      for (let left = varint(); left > 0; left--) {
        varint();
        bytes(varint());
      }
    },
  };
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
