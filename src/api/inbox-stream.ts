// The inbox's live streams: woken by the log's tail and the read model's changes, fed from the read model, each from its own marks onwards.
//
// An event of a recipient with a stream makes that inbox due; it is read again once the read model has folded the event, whichever of the two is heard of first.

import type { DomainEvent } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Topic } from '../domain/topics.ts';
import { inboxPartition } from '../domain/topics.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { inboxReadModel } from '../projections/inbox/index.ts';
import type { InboxMarks, InboxNews } from '../projections/inbox/queries.ts';
import { inboxMarks, inboxSince } from '../projections/inbox/queries.ts';
import type { EventStream } from './event-stream.ts';
import { tellBeginning, tellNews } from './inbox-news.ts';
import { createLogEnds } from './log-ends.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'tail' | 'ends' | 'partitioning'>;
  readonly reader: ReadModelReader;
  readonly logger: Logger;
}

export interface InboxAddress {
  readonly tenantId: TenantId;
  readonly recipient: string;
}

/** Items read from the read model at a time. */
const itemsPerLook = 100;
const lateMs = 100;
/** Before another try, when the read model can't be read. */
const retryMs = 1000;

interface Listener {
  readonly stream: EventStream;
  marks: InboxMarks;
  /** Its reader is behind: it is fed again once that has caught up. */
  isWaiting: boolean;
}

interface Inbox extends InboxAddress {
  readonly listeners: Set<Listener>;
  /** Events of each topic that weren't seen folded yet: the next one that the inbox is to be read for, and the last. */
  readonly due: Map<Topic, { readonly partition: number; readonly next: number; readonly last: number }>;
  /** A listener has just come, or has caught up: the inbox is read for it, whatever is due. */
  isWanted: boolean;
}

export type InboxStreams = ReturnType<typeof createInboxStreams>;

/** Follows the log only while somebody listens. */
export function createInboxStreams({ log, reader, logger }: Dependencies) {
  const { name } = inboxReadModel.definition;
  const endsNow = createLogEnds(log, inboxReadModel.topics);
  const inboxes = new Map<string, Inbox>();
  let stop: (() => void) | null = null;
  let isFeeding = false;
  let isWoken = false;
  let late: NodeJS.Timeout | null = null;

  const take = ({ event, topic, partition, offset }: LogEntry): void => {
    const key = event === null ? null : keyOfEvent(event);
    const inbox = key === null ? undefined : inboxes.get(key);
    if (inbox === undefined) return;
    inbox.due.set(topic, { partition, next: inbox.due.get(topic)?.next ?? offset, last: offset });
    // The read model may have been faster than the tail, and then tells of no change any more.
    feedIn(lateMs);
  };

  const feedIn = (ms: number): void => {
    late ??= setTimeout(() => {
      late = null;
      void feed();
    }, ms);
  };

  /** Feeds every inbox that is due. One run at a time; being woken meanwhile makes another. */
  const feed = async (): Promise<void> => {
    isWoken = true;
    if (isFeeding) return;
    isFeeding = true;
    try {
      while (isWoken) {
        isWoken = false;
        for (const inbox of inboxes.values()) if (inbox.isWanted || inbox.due.size > 0) await feedInbox(inbox);
      }
    } catch (err) {
      logger.warn('the inbox streams wait for the read model', { err });
      if (inboxes.size > 0) feedIn(retryMs);
    } finally {
      isFeeding = false;
    }
  };

  const feedInbox = async (inbox: Inbox): Promise<void> => {
    const { isWanted } = inbox;
    inbox.isWanted = false;
    try {
      const folded = await foldedOf(inbox);
      if (!isWanted && folded.size === 0) return;
      for (const listener of inbox.listeners) await feedListener(inbox, listener);
      for (const [topic, upTo] of folded) settleDue(inbox, topic, upTo);
    } catch (err) {
      inbox.isWanted ||= isWanted;
      throw err;
    }
  };

  /** How far each topic with due events was folded before the inbox is read, where that is beyond the next due one. */
  const foldedOf = async ({ due }: Inbox): Promise<Map<Topic, number>> => {
    const folded = new Map<Topic, number>();
    for (const [topic, { partition, next }] of due) {
      const upTo = (await reader.positions(name, partition)).get(topic) ?? 0;
      if (upTo > next) folded.set(topic, upTo);
    }
    return folded;
  };

  const feedListener = async (inbox: Inbox, listener: Listener): Promise<void> => {
    const { tenantId, recipient } = inbox;
    for (;;) {
      if (!listener.stream.hasRoom) return feedLater(inbox, listener);
      const news: InboxNews = await inboxSince(reader, tenantId, recipient, listener.marks, itemsPerLook);
      const told = tellNews(listener.stream, listener.marks, news);
      listener.marks = told.marks;
      if (told.isAll && !news.more) return;
    }
  };

  /** What a slow reader hasn't room for stays in the read model until it has; nobody waits for it. */
  const feedLater = (inbox: Inbox, listener: Listener): void => {
    if (listener.isWaiting) return;
    listener.isWaiting = true;
    void listener.stream.room().then((isOpen) => {
      listener.isWaiting = false;
      if (!isOpen) return;
      inbox.isWanted = true;
      void feed();
    });
  };

  /** What the log has and the read model hasn't yet when a stream begins came before its tail: it is due as well. */
  const expectWhatIsThere = async (inbox: Inbox, stream: EventStream): Promise<void> => {
    const partition = inboxPartition(inbox.tenantId, inbox.recipient, log.partitioning);
    try {
      const [ends, folded] = [await endsNow(), await reader.positions(name, partition)];
      for (const topic of inboxReadModel.topics) {
        const [next, end] = [folded.get(topic) ?? 0, ends.get(topic)?.[partition] ?? 0];
        const due = inbox.due.get(topic) ?? { partition, next, last: end - 1 };
        if (next < end)
          inbox.due.set(topic, { partition, next: Math.min(next, due.next), last: Math.max(end - 1, due.last) });
      }
      inbox.isWanted = true;
      await feed();
    } catch (err) {
      logger.warn('an inbox stream could not be begun', { tenantId: inbox.tenantId, err });
      stream.end();
    }
  };

  const start = (): void => {
    const untail = log.tail(inboxReadModel.topics, take);
    const unsubscribe = reader.onChange(name, () => void feed());
    stop = () => {
      untail();
      unsubscribe();
      if (late !== null) clearTimeout(late);
      late = null;
    };
  };

  return {
    /** Sends that it is open, then the inbox's news after the marks. Returns the call that ends it. */
    add(address: InboxAddress, stream: EventStream, marks: InboxMarks): () => void {
      const key = keyOf(address);
      const inbox = inboxes.get(key) ?? {
        ...address,
        listeners: new Set<Listener>(),
        due: new Map(),
        isWanted: true,
      };
      inboxes.set(key, inbox);
      const listener = { stream, marks, isWaiting: false };
      inbox.listeners.add(listener);
      inbox.isWanted = true;
      if (stop === null) start();
      tellBeginning(stream, marks);
      void expectWhatIsThere(inbox, stream);
      return () => {
        inbox.listeners.delete(listener);
        if (inbox.listeners.size === 0 && inboxes.get(key) === inbox) inboxes.delete(key);
        if (inboxes.size > 0) return;
        stop?.();
        stop = null;
      };
    },

    /** The present end, for a stream that begins now. */
    marksOf: ({ tenantId, recipient }: InboxAddress): Promise<InboxMarks> => inboxMarks(reader, tenantId, recipient),
  };
}

function settleDue({ due }: Inbox, topic: Topic, upTo: number): void {
  const left = due.get(topic);
  if (left === undefined) return;
  if (upTo > left.last) due.delete(topic);
  else due.set(topic, { ...left, next: upTo });
}

function keyOf({ tenantId, recipient }: InboxAddress): string {
  return `${tenantId}\n${recipient}`;
}

function keyOfEvent(event: DomainEvent): string | null {
  if (event.type === 'InboxRead') return keyOf(event);
  const isItem = event.type === 'NotificationRequested' || event.type === 'AttemptSucceeded';
  return isItem && event.channel === 'IN_APP' ? keyOf(event) : null;
}
