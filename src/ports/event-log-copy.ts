// Copying a whole log into an empty one, bytes and all: what the log that is left must give, and what the one that is made must take.
//
//   source: ends, read, positions ──> target: begin ──> append ... ──> writePositions ──> complete

import type { Partitioning, Topic } from '../domain/topics.ts';
import type { CommittedPosition } from './event-log.ts';

/** A schema that events were written with. */
export interface WrittenSchema {
  /** Event type. */
  readonly type: string;
  /** MD5 of the schema's Avro canonical form, in hex. */
  readonly fingerprint: string;
  readonly json: string;
}

/** One event as its log keeps it: not decoded, so it may be one that nobody can decode. */
export interface RawEntry {
  readonly offset: number;
  /** UTC ms at which the log took it. */
  readonly appendedAt: number;
  readonly schema: WrittenSchema;
  /** The bare Avro datum. */
  readonly bytes: Uint8Array;
}

/** In the place of an event that retention has taken: its offset goes to nobody else. */
export interface GoneEntry {
  readonly offset: number;
  /** UTC ms: of the event before it, so that times never fall and nothing is found at its place. */
  readonly appendedAt: number;
  readonly bytes: null;
}

export type CopiedEntry = RawEntry | GoneEntry;

export interface GroupPosition extends CommittedPosition {
  readonly group: string;
  readonly topic: Topic;
  readonly partition: number;
}

/** A log that nobody writes any more. Every call rejects with an Error when it can't be read. */
export interface EventLogCopySource {
  /** A hash of the log as it is: the same events, the same text. */
  readonly identity: string;
  readonly partitioning: Partitioning;
  readonly topics: readonly Topic[];
  /** All that the log was ever written with, those of a type in the order of their versions. */
  readonly schemas: readonly WrittenSchema[];
  /** By partition number. @throws Error when an event below the end is missing that retention hasn't taken */
  ends(topic: Topic): Promise<readonly number[]>;
  /** The offset of the first event of each partition, by its number; its end where it has none. */
  starts(topic: Topic): Promise<readonly number[]>;
  /** How many events retention has taken, of all topics. */
  gone(): Promise<number>;
  /** The entries from an offset on, ascending, with gaps where events are gone: at most `eventsMax` and about `bytesMax`, at least one unless there is none. */
  read(from: {
    readonly topic: Topic;
    readonly partition: number;
    readonly offset: number;
    readonly eventsMax: number;
    readonly bytesMax: number;
  }): Promise<readonly RawEntry[]>;
  /** Of all groups. */
  positions(): Promise<readonly GroupPosition[]>;
}

/** Thrown where the target is no log that this copy may write into. */
export class CopyRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CopyRefusedError';
  }
}

/** Every call rejects with an Error when the target stays away for longer than it is waited for; the copy may be begun again then. */
export interface EventLogCopyTarget {
  /**
   * Makes the log, which nobody can open until `complete`, or goes on with one that a copy made. `complete`: nothing is left to do.
   * @throws CopyRefusedError when the log was made otherwise, is in use, or when another copy is under way
   */
  begin(
    source: Pick<EventLogCopySource, 'identity' | 'partitioning' | 'topics' | 'schemas'>,
  ): Promise<'begun' | 'complete'>;
  /** The offset that the next entry of each partition gets, by partition number. */
  ends(topic: Topic): Promise<readonly number[]>;
  /** Whether exactly this entry, bytes, schema and time, stands at its offset; of one that is gone, whether nothing does. */
  holds(topic: Topic, partition: number, entry: CopiedEntry): Promise<boolean>;
  /**
   * Appends entries, whose offsets follow each other, at those very offsets; safe to repeat. One call at a time for each partition.
   * @throws CopyRefusedError when something else stands there
   */
  append(topic: Topic, partition: number, entries: readonly CopiedEntry[]): Promise<void>;
  /** The partitions begin there from now on, by their numbers: nothing but what is gone is before. Safe to repeat. */
  beginAt(topic: Topic, starts: readonly number[]): Promise<void>;
  /** In place of whatever positions the groups have. @throws CopyRefusedError when a group has members */
  writePositions(positions: readonly GroupPosition[]): Promise<void>;
  /** From now on the log can be opened, and not be copied into. */
  complete(): Promise<void>;
  close(): Promise<void>;
}
