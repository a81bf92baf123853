// The event log: the only truth. Topics of numbered partitions, appended to, consumed by groups, read back by range.
// A partition number means the same in every topic: a consumer owns numbers, and with a number that number of all its topics.

import type { DomainEvent, EventType } from '../domain/events.ts';
import type { EventId, NotificationId, TenantId } from '../domain/ids.ts';
import type { Partitioning, Topic } from '../domain/topics.ts';
import type { SurveyedPage, SurveyedRange } from './log-survey.ts';

export interface Position {
  readonly topic: Topic;
  readonly partition: number;
  /** 0 for the first event of a partition; later ones ascend and may have gaps. */
  readonly offset: number;
}

export type AppendResult =
  | { readonly kind: 'durable'; readonly position: Position }
  /** Not in the log, and it will not be: the same append may be tried again. */
  | { readonly kind: 'refused'; readonly reason: string; readonly isEverywhere?: true }
  /** It may be in the log or come to be: an append again may make a second one of the same eventId. `isEverywhere`: whichever process appends there now, so it says nothing of this one. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly isEverywhere?: true };

/** What an event begins with, whatever its type. */
export interface EventHead {
  readonly type: EventType;
  readonly eventId: EventId;
  /** UTC ms, by the clock of whoever said it. */
  readonly occurredAt: number;
  readonly tenantId: TenantId;
}

/** One event as it stands in the log. */
export interface LogEntry extends Position {
  /** UTC ms at which the log took it; never falls within a partition. */
  readonly appendedAt: number;
  /** Bytes of the encoded event. */
  readonly size: number;
  /** For those who read past what isn't theirs: costs next to nothing. null: not even this can be read. */
  readonly head: EventHead | null;
  /** null: its bytes do not decode under its known schema (a dead letter). Decoded when it is asked for first. */
  readonly event: DomainEvent | null;
  /** What is wrong with the bytes, and they themselves in base64, when `event` is null. */
  readonly undecodable: { readonly reason: string; readonly bytes: string } | null;
}

/** What a group has finished in one partition. */
export interface CommittedPosition {
  /** Everything below it is finished. */
  readonly offset: number;
  /** The committer's own note, e.g. what is finished beyond the offset; at most 4,096 characters. */
  readonly metadata: string;
}

export interface TopicCommit extends CommittedPosition {
  readonly topic: Topic;
}

/** Thrown by commit (and by a store's transact) when another member has taken the partition number over: nothing was written. */
export class StaleOwnerError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StaleOwnerError';
  }
}

/** A partition number that this consumer owns, from `owned` until its signal aborts. */
export interface Claim {
  readonly partition: number;
  /** Aborts when the number is lost or the consumer stops. */
  readonly signal: AbortSignal;
  /**
   * Whether the group has said lately that the number is this claim's; false while its last answer is older than what it waits for a silent member: it is
   * asked at once then, and the answer ends the claim or makes it current.
   */
  isCurrent(): boolean;
  /** Of two claims on a number the later one has the greater. A group that was made anew, after nobody was in it for long, may begin at 1 again. */
  readonly generation: number;
  /** What the group had committed when the number was taken, per topic of the consumer; null: never anything. */
  readonly committed: ReadonlyMap<Topic, CommittedPosition | null>;
  /**
   * Resolves once the group, asked now, has said that the number is this claim's.
   * @throws StaleOwnerError when it isn't any more, or the group shares out anew; Error when the group can't say now
   */
  confirm(): Promise<void>;
  /**
   * Reads topics of this number onwards from the given offsets. Several readers of one claim may run side by side over different topics.
   */
  read(from: ReadonlyMap<Topic, number>): PartitionReader;
  /** Durable when it resolves. @throws StaleOwnerError */
  commit(commits: readonly TopicCommit[]): Promise<void>;
}

export interface PartitionReader {
  /**
   * The next events, each partition's in the order of its offsets: at least one, at most `eventsMax` and about `bytesMax`; waits until there is one.
   * Empty once the claim's signal has aborted or the reader was closed, and when `passedMax` offsets and more were passed over since the last answer: their types aren't asked for.
   * @throws Error when the log can't be read or a schema isn't known: nothing was passed over, the call may be repeated.
   */
  take(limits: {
    readonly eventsMax: number;
    readonly bytesMax: number;
    readonly passedMax?: number;
  }): Promise<readonly LogEntry[]>;
  /** Where each topic is to be read on: all below it was handed out or isn't asked for. Goes on by itself while a take waits. */
  position(): ReadonlyMap<Topic, number>;
  /** Whether everything that the log held when it was asked has been taken. */
  atEnd(): Promise<boolean>;
  /** Reads no more, so that another reader of the claim may: for a loop that ends before its claim. */
  close(): void;
}

/** What a number waits for its old owner at most, before it goes to the next. */
export const releaseMaxMs = 5_000;

export interface ConsumeOptions {
  readonly group: string;
  readonly topics: readonly Topic[];
  /** Types that are worth decoding; others are passed over without being handed out. Absent: all. */
  readonly types?: ReadonlySet<EventType>;
  /**
   * What it says of events that are deleted before its readers come to them: `lost`, since nobody has seen to them, or `over`, since they only go once they have
   * ended (retention), and whoever reads what is left comes to the same. Absent: `lost`.
   */
  readonly deleted?: 'lost' | 'over';
  /**
   * Topics that speak of what the others hold: none of their events is handed out before what of the others is older, however long that takes to be read; nor
   * behind what came after it beyond doubt and is here as well (`cameAfter`). Absent: none.
   */
  readonly afterOthers?: ReadonlySet<Topic>;
  /** Events that trickle in may be gathered for so long, in ms, before they are handed out: it saves requests where the log is on another machine. Absent: 0. */
  readonly gatherMs?: number;
  /** Called for each number when it is taken. Must not throw; starts its own loops and returns. */
  owned(claim: Claim): void;
  /**
   * Called when the group is about to give a number to another member: begins nothing new of it, and resolves when what was under way is finished and
   * committed. It is waited for `releaseMaxMs` at most, then the number is lost. Not called where there is nobody left to ask: the number is lost at once.
   */
  releasing?(partition: number): Promise<void>;
  /** Called when a number is lost, after its signal aborted. */
  lost(partition: number): void;
}

export interface Consumer {
  /** Gives all numbers back. Work that uses its claims should be finished and committed before. */
  stop(): Promise<void>;
}

/** What ties a log and the stores beside it together, so that none of them is taken for another one's. */
export interface LogIdentity {
  /** Made with the log, for good; a copy of its files has the same. */
  readonly id: string;
  /** Settings were tied to it. */
  readonly hasSettings: boolean;
  /** Durable when it resolves; may be said again. @throws Error when it can't be written */
  noteSettings(): Promise<void>;
}

/** Judged event by event: at most so many, and of so many bytes together, are trimmed in one call. */
export const trimEventsMax = 128;
export const trimBytesMax = 512 * 1024;

export interface TrimmedRange {
  readonly topic: Topic;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  /** Offsets, ascending. */
  readonly kept: readonly number[];
}

export interface Trimmed {
  readonly events: number;
}

/** Events of one topic and one type that another thread has encoded, in their order. */
export interface EncodedEvents {
  readonly topic: Topic;
  readonly type: EventType;
  /** Of the schema that they are written with. */
  readonly fingerprint: string;
  /** Bare Avro datums, one behind the other. */
  readonly bytes: Uint8Array;
  /** Where each of them ends in `bytes`. */
  readonly ends: readonly number[];
  /** The number of each. */
  readonly partitions: readonly number[];
}

export interface EventLog {
  readonly partitioning: Partitioning;

  /**
   * Appends to the event's own topic (topicOf) and `partition`. Micro-batched with whatever else is appended at the time.
   * Never rejects for reasons of the log: the outcome says it. A full queue is `refused`.
   */
  append(event: DomainEvent): Promise<AppendResult>;

  /** Many at once, each with its own result, in their order: cheaper than so many calls, otherwise the same. */
  appendAll(events: readonly DomainEvent[]): Promise<readonly AppendResult[]>;

  /** The same of events of one tenant that are encoded, by the newest schemas of this version: none of them is taken apart for it. */
  appendEncoded(tenantId: TenantId, events: EncodedEvents): Promise<readonly AppendResult[]>;

  /** Joins the group; its members share the partition numbers. */
  consume(options: ConsumeOptions): Promise<Consumer>;

  /**
   * Every event of these topics that is appended from now on, in order within a partition, on this node whoever appended it; no group, nothing committed.
   * The listener must return at once and not throw. Returns the call that ends it.
   */
  tail(topics: readonly Topic[], listener: (entry: LogEntry) => void): () => void;

  /** A range of one partition, ascending: offsets in [from, to). Ends early at the log's end. */
  read(range: {
    readonly topic: Topic;
    readonly partition: number;
    readonly from: number;
    readonly to: number;
    /** Of what is held beside the event that was handed out, about, for those who read many partitions side by side; absent: as is quickest. */
    readonly aheadBytes?: number;
    /** Those of erased tenants too, without what they said: for who removes them. Absent: they are passed over. */
    readonly ofErased?: 'shown';
  }): AsyncIterable<LogEntry>;

  /** The same range, for who has how much in it: page by page, ascending, those without what is wanted too. Ends early at the log's end. */
  survey(range: SurveyedRange): AsyncIterable<SurveyedPage>;

  /**
   * The offset that the next event of each partition of the topic gets, by partition number. Whoever needs some numbers alone names them, and looks at no others:
   * one of which the log can't say fails those that ask for it. @throws Error when it can't say
   */
  ends(topic: Topic, numbers?: readonly number[]): Promise<readonly number[]>;

  /** The offset of the first event that each partition of the topic still has; its end where it has none. As `ends`. */
  starts(topic: Topic, numbers?: readonly number[]): Promise<readonly number[]>;

  /**
   * Takes away what retention has ended for: of the offsets [from, to) of a partition all but `kept`. A log that can only lose its beginning goes as far as to
   * the first that is kept. Safe to repeat. Resolves with what went. @throws Error when the log can't be written
   */
  trim(range: TrimmedRange): Promise<Trimmed>;

  /** The least offset whose event was appended at or after `timeMs` (UTC); the partition's end when there is none. */
  offsetAt(topic: Topic, partition: number, timeMs: number): Promise<number>;

  /** Whether the log says, as far as this process has heard, that its recipient is forgotten: its events are read and written without what they said. */
  isErased(id: NotificationId): boolean;

  /** Whether the log says, as far as this process has heard, that the tenant is erased: nothing of it is read, folded or sent any more. */
  isTenantErased(id: TenantId): boolean;

  /** What a group has committed, by partition number, of one topic. */
  committed(group: string, topic: Topic): Promise<readonly (CommittedPosition | null)[]>;

  /** Whether appends would work now. */
  ready(): Promise<boolean>;

  /** Answers what is queued and lets go of everything. */
  close(): Promise<void>;
}
