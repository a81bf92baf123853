// The inbox's live streams: woken by the log's tail and the read model's changes, fed from the read model, each from its own marks onwards.
//
// An event of a recipient with a stream makes that inbox due; it is read again once the read model has folded the event, whichever of the two is heard of first.

import { badField } from '../domain/errors.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { inboxItemIdOf } from '../domain/ids.ts';
import type { Topic } from '../domain/topics.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { inboxReadModel } from '../projections/inbox/index.ts';
import type { InboxMarks, InboxNews } from '../projections/inbox/queries.ts';
import { inboxMarks, inboxSince } from '../projections/inbox/queries.ts';
import { toItem } from './handlers/inbox.ts';
import { isoTime } from './record.ts';
import type { EventStream } from './sse.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'tail'>;
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

interface Listener {
  readonly stream: EventStream;
  marks: InboxMarks;
}

interface Inbox extends InboxAddress {
  readonly listeners: Set<Listener>;
  /** Events of each topic that weren't seen folded yet: the next one that the inbox is to be read for, and the last. */
  readonly due: Map<Topic, { readonly partition: number; readonly next: number; readonly last: number }>;
  /** A listener has just come: the inbox is read for it, whatever is due. */
  hasNewcomer: boolean;
}

export type InboxStreams = ReturnType<typeof createInboxStreams>;

/** Follows the log only while somebody listens. */
export function createInboxStreams({ log, reader, logger }: Dependencies) {
  const { name } = inboxReadModel.definition;
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
    late ??= setTimeout(() => {
      late = null;
      void feed();
    }, lateMs);
  };

  /** Feeds every inbox that is due. One run at a time; being woken meanwhile makes another. */
  const feed = async (): Promise<void> => {
    isWoken = true;
    if (isFeeding) return;
    isFeeding = true;
    try {
      while (isWoken) {
        isWoken = false;
        for (const inbox of inboxes.values()) if (inbox.hasNewcomer || inbox.due.size > 0) await feedInbox(inbox);
      }
    } catch (err) {
      logger.warn('the inbox streams wait for the read model', { err });
    } finally {
      isFeeding = false;
    }
  };

  const feedInbox = async (inbox: Inbox): Promise<void> => {
    const folded = await foldedOf(inbox);
    if (!inbox.hasNewcomer && folded.size === 0) return;
    inbox.hasNewcomer = false;
    for (const listener of inbox.listeners) await feedListener(inbox, listener);
    for (const [topic, upTo] of folded) settleDue(inbox, topic, upTo);
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

  const feedListener = async ({ tenantId, recipient }: Inbox, listener: Listener): Promise<void> => {
    for (;;) {
      const news: InboxNews = await inboxSince(reader, tenantId, recipient, listener.marks, itemsPerLook);
      if (!tellNews(listener.stream, listener.marks, news)) return;
      listener.marks = news.next;
      if (!news.more) return;
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
    /** Sends the inbox's news after the marks. Returns the call that ends it. */
    add(address: InboxAddress, stream: EventStream, marks: InboxMarks): () => void {
      const key = keyOf(address);
      const inbox = inboxes.get(key) ?? {
        ...address,
        listeners: new Set<Listener>(),
        due: new Map(),
        hasNewcomer: true,
      };
      inboxes.set(key, inbox);
      const listener = { stream, marks };
      inbox.listeners.add(listener);
      inbox.hasNewcomer = true;
      if (stop === null) start();
      void feed();
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

/** `Last-Event-ID` of a stream. @throws DomainError BAD_REQUEST */
export function parseMarks(text: string): InboxMarks {
  const match = /^(-1|\d{1,15})\.(-1|\d{1,15})$/.exec(text);
  if (match === null) throw badField('last-event-id', 'must be an id of this stream');
  return { sequence: Number(match[1]), readOffset: Number(match[2]) };
}

function marksText({ sequence, readOffset }: InboxMarks): string {
  return `${sequence}.${readOffset}`;
}

/** Each message carries the marks that stand once it is told. False when the stream has ended. */
function tellNews(stream: EventStream, before: InboxMarks, { items, reads }: InboxNews): boolean {
  let marks = before;
  for (const item of items) {
    marks = { ...marks, sequence: item.sequence };
    if (!stream.send({ event: 'notification', id: marksText(marks), data: toItem(item) })) return false;
  }
  for (const { offset, ids, readAt } of reads) {
    marks = { ...marks, readOffset: offset };
    const data = { ids: ids.map(inboxItemIdOf), readAt: isoTime(readAt) };
    if (!stream.send({ event: 'read', id: marksText(marks), data })) return false;
  }
  return true;
}

function keyOf({ tenantId, recipient }: InboxAddress): string {
  return `${tenantId}\n${recipient}`;
}

function keyOfEvent(event: DomainEvent): string | null {
  if (event.type === 'InboxRead') return keyOf(event);
  const isItem = event.type === 'NotificationRequested' || event.type === 'AttemptSucceeded';
  return isItem && event.channel === 'IN_APP' ? keyOf(event) : null;
}
