// An entry of the log whose event is decoded when it is asked for first: who reads past what isn't his turn pays for its head alone.

import type { EventHead, LogEntry, Position } from '../ports/event-log.ts';
import type { Codec } from './index.ts';
import { UndecodableError } from './index.ts';

export interface EntryPlace extends Position {
  readonly appendedAt: number;
}

/** What stands beside the bytes. */
export interface WrittenWith {
  readonly type: string;
  readonly fingerprint: string;
}

type Content = Pick<LogEntry, 'event' | 'undecodable'>;

/** @param bytes the bare datum @throws UnknownSchemaError */
export function entryOf(codec: Codec, place: EntryPlace, written: WrittenWith, bytes: Buffer): LogEntry {
  const head = headBy(codec, written, bytes);
  if (head instanceof UndecodableError) return deadEntry(place, head.message, bytes);
  return new LazyEntry(codec, place, written, bytes, head);
}

/** Nothing of it can be told but why. */
export function deadEntry(place: EntryPlace, reason: string, bytes: Buffer): LogEntry {
  const { topic, partition, offset, appendedAt } = place;
  const dead = { head: null, event: null, undecodable: told(reason, bytes) };
  return { topic, partition, offset, appendedAt, size: bytes.length, ...dead };
}

/** A class for its speed alone: an object literal with accessors takes 3 us, as long as decoding does. */
class LazyEntry implements LogEntry {
  readonly topic: LogEntry['topic'];
  readonly partition: number;
  readonly offset: number;
  readonly appendedAt: number;
  readonly size: number;
  readonly head: EventHead;
  private readonly codec: Codec;
  private readonly written: WrittenWith;
  /** Never both: an entry may be kept, and counts as one of them. */
  private content: Content | Buffer;

  constructor(codec: Codec, place: EntryPlace, written: WrittenWith, bytes: Buffer, head: EventHead) {
    this.topic = place.topic;
    this.partition = place.partition;
    this.offset = place.offset;
    this.appendedAt = place.appendedAt;
    this.size = bytes.length;
    this.head = head;
    this.codec = codec;
    this.written = written;
    this.content = bytes;
  }

  get event(): LogEntry['event'] {
    // Asked each time: it may be erased since it was decoded.
    const { event } = this.decoded();
    return event === null ? null : this.codec.erasures.shown(event);
  }

  get undecodable(): LogEntry['undecodable'] {
    return this.decoded().undecodable;
  }

  private decoded(): Content {
    const { content } = this;
    const decoded = Buffer.isBuffer(content) ? decodedBy(this.codec, this.written, content) : content;
    this.content = decoded;
    return decoded;
  }
}

function headBy(codec: Codec, { type, fingerprint }: WrittenWith, bytes: Buffer): EventHead | UndecodableError {
  return readable(() => codec.headOf(type, fingerprint, bytes));
}

function decodedBy(codec: Codec, { type, fingerprint }: WrittenWith, bytes: Buffer): Content {
  const event = readable(() => codec.decode(type, fingerprint, bytes));
  return event instanceof UndecodableError
    ? { event: null, undecodable: told(event.message, bytes) }
    : { event, undecodable: null };
}

function told(reason: string, bytes: Buffer): NonNullable<LogEntry['undecodable']> {
  return { reason, bytes: bytes.toString('base64') };
}

function readable<T>(read: () => T): T | UndecodableError {
  try {
    return read();
  } catch (error) {
    if (error instanceof UndecodableError) return error;
    throw error;
  }
}
