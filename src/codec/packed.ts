// Events of one topic as one piece of memory: what crosses from the thread that encodes them to the one that appends them.

import type { DomainEvent } from '../domain/events.ts';
import { topicOf } from '../domain/topics.ts';
import type { EncodedEvents } from '../ports/event-log.ts';
import type { Codec } from './index.ts';

/** In memory of their own, which can be transferred. @throws Error without an event, or with several types or topics: a bug */
export function packed(codec: Pick<Codec, 'encodeAll'>, events: readonly DomainEvent[]): EncodedEvents {
  const encoded = codec.encodeAll(events);
  const [first] = events;
  const [firstEncoded] = encoded;
  if (first === undefined || firstEncoded === undefined) throw new Error('there is no event to pack');
  const topic = topicOf(first);
  const { type, fingerprint } = firstEncoded;
  const bytes = new Uint8Array(encoded.reduce((sum, one) => sum + one.bytes.length, 0));
  const ends: number[] = [];
  let end = 0;
  for (const [i, one] of encoded.entries()) {
    const event = events[i];
    if (one.type !== type || event === undefined || topicOf(event) !== topic)
      throw new Error(`events of ${topic} and of ${type} alone are packed together`);
    bytes.set(one.bytes, end);
    end += one.bytes.length;
    ends.push(end);
  }
  return { topic, type, fingerprint, bytes, ends, partitions: events.map(({ partition }) => partition) };
}

/** The bytes of each, where they are. */
export function datumsOf({ bytes, ends }: EncodedEvents): readonly Uint8Array[] {
  return ends.map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end));
}

/** What they were encoded from. @throws UndecodableError @throws UnknownSchemaError */
export function unpacked(codec: Pick<Codec, 'decode'>, events: EncodedEvents): readonly DomainEvent[] {
  const { type, fingerprint } = events;
  return datumsOf(events).map(({ buffer, byteOffset, byteLength }) =>
    codec.decode(type, fingerprint, Buffer.from(buffer, byteOffset, byteLength)),
  );
}
