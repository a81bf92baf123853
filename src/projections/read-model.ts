// What a read model is to the projector: its collections, the topics it follows and the fold.

import type { DomainEvent, EventType } from '../domain/events.ts';
import type { Topic } from '../domain/topics.ts';
import type { LogEntry } from '../ports/event-log.ts';
import type { Document, ReadModelDefinition, ReadModelReader, Write } from '../ports/read-model-store.ts';

/** What a fold may ask. */
export type FoldReader = Pick<ReadModelReader, 'get' | 'secret'>;

/** An entry whose bytes decoded. */
export interface DecodedEntry extends LogEntry {
  readonly event: DomainEvent;
}

export interface ReadModel {
  readonly definition: ReadModelDefinition;
  readonly topics: readonly Topic[];
  /** Types that the fold looks at; absent: all of its topics. */
  readonly types?: ReadonlySet<EventType>;
  /** Others that share its thread come first while they have much to do. */
  readonly mayLag?: true;
  /** Those who don't fill a number are folded before their turn, past what others have there; and once more when it comes. */
  readonly foldsOthersAhead?: true;
  /** Says in the dead-letters topic which bytes do not decode; one read model does it for all of them. */
  readonly reportsDeadLetters?: true;
  /**
   * The documents that follow from the stored ones and these entries of one partition number (each topic in the order of its offsets).
   * A function of its arguments alone: it is called again when the write failed, and by a rebuild.
   */
  fold(entries: readonly DecodedEntry[], reader: FoldReader): Promise<Write[]>;
  /** The fold that was in use before this one; absent: there is none, or none that an installation may still have. */
  readonly replaces?: Replaced;
  /** What is stored of a document that is too large for the store; absent: it stays as it is stored. */
  shortened?(document: Document): Document;
}

/**
 * A read model of the release before, kept in this one so that it is folded and queried until this one, folded beside it, has caught up. What queries ask
 * of this one they then ask of it: they read documents of both.
 */
export interface Replaced {
  readonly readModel: ReadModel;
  /** By the name of a collection of this one: its name in the former one. What is absent here the former one hasn't. */
  readonly collections: Readonly<Record<string, string>>;
}

export function isDecoded(entry: LogEntry): entry is DecodedEntry {
  return entry.event !== null;
}

/** The next offset of each topic after these entries. */
export function offsetsAfter(entries: readonly LogEntry[]): Map<Topic, number> {
  const offsets = new Map<Topic, number>();
  for (const { topic, offset } of entries) offsets.set(topic, offset + 1);
  return offsets;
}

/** Where to read on: the stored offsets, 0 for topics never folded. */
export function startingOffsets(readModel: ReadModel, stored: ReadonlyMap<Topic, number>): Map<Topic, number> {
  return new Map(readModel.topics.map((topic) => [topic, stored.get(topic) ?? 0]));
}

/**
 * Of one batch, as it is in the log: 750 small events. 12 numbers x 4 read models x 256 KiB are 12 MiB, 24 decoded, and as much again in documents.
 * An InboxRead names up to 5,000 ids in 160 KiB: a batch touches 10,000 items at most.
 */
export const foldBytesMax = 256 * 1024;
