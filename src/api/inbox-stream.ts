// The inbox's live streams: woken by the log's tail and the read model's changes, fed from the read model, each from its own marks onwards.
//
// An event of a recipient with a stream makes that inbox due; it is read again once the read model has folded the event, whichever of the two is heard of first.

import type { DomainEvent } from '../domain/events.ts';
import type { Topic } from '../domain/topics.ts';
import { deliveriesTopic, inboxPartition, inboxTopic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import { inboxReadModel, inboxTopics } from '../projections/inbox/index.ts';
import type { InboxMarks } from '../projections/inbox/queries.ts';
import { inboxMarks } from '../projections/inbox/queries.ts';
import { positionsOf } from '../projections/wait.ts';
import { createCatchUpTurns } from './catch-up-turns.ts';
import type { EventStream } from './event-stream.ts';
import type { InboxAddress, Listener } from './inbox-feed.ts';
import { feedListeners } from './inbox-feed.ts';
import { tellBeginning } from './inbox-news.ts';
import type { LogEnds } from './log-ends.ts';
import { createLogEnds } from './log-ends.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'tail' | 'ends' | 'partitioning'>;
  readonly reader: ReadModelReader;
  readonly turns: ThreadTurns;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly logger: Logger;
}

/** Looks into inboxes at once, one of a tenant: 256 KiB of items, rendered and written. */
const atOnceMax = 16;
const lateMs = 100;
/** Before another try, when the read model can't be read. */
const retryMs = 1000;

interface Inbox extends InboxAddress {
  readonly listeners: Set<Listener>;
  /** Events of each topic that weren't seen folded yet: the next one that the inbox is to be read for, and the last. */
  readonly due: Map<Topic, { readonly partition: number; readonly next: number; readonly last: number }>;
  /** A listener has just come, or has caught up: the inbox is read for it, whatever is due. */
  isWanted: boolean;
  /** A look into it runs, or waits for its turn. */
  isFeeding: boolean;
  /** Something has come since that look began. */
  isWoken: boolean;
}

export type InboxStreams = ReturnType<typeof createInboxStreams>;

/** Follows the log only while somebody listens. */
export function createInboxStreams({ log, reader, turns, clock, logger }: Dependencies) {
  const takeTurn = createCatchUpTurns(atOnceMax, clock);
  const { name } = inboxReadModel.definition;
  const endsNow = createLogEnds(log, inboxTopics);
  const inboxes = new Map<string, Inbox>();
  let stop: (() => void) | null = null;
  let late: NodeJS.Timeout | null = null;
  /** That the read model can't be read, since the last try. */
  let isSaid = false;

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
      isSaid = false;
      feed();
    }, ms);
  };

  /** Every inbox that is due, each by itself: no tenant's waits for another's. */
  const feed = (): void => {
    for (const inbox of inboxes.values()) if (inbox.isWanted || inbox.due.size > 0) wake(inbox);
  };

  /** One look at a time, in the turns of its tenant; being woken meanwhile makes another. */
  const wake = (inbox: Inbox): void => {
    inbox.isWoken = true;
    if (inbox.isFeeding) return;
    inbox.isFeeding = true;
    void takeTurn(inbox.tenantId, () => turns.spent(inbox.tenantId, () => feedInbox(inbox)))
      .catch((err: unknown) => {
        if (!isSaid) logger.warn('the inbox streams wait for the read model', { err });
        isSaid = true;
        inbox.isWoken = false;
        if (inboxes.size > 0) feedIn(retryMs);
      })
      .finally(() => {
        inbox.isFeeding = false;
        if (inbox.isWoken) wake(inbox);
      });
  };

  const feedInbox = async (inbox: Inbox): Promise<void> => {
    const { isWanted } = inbox;
    inbox.isWanted = inbox.isWoken = false;
    try {
      const folded = await foldedOf(inbox);
      if (!isWanted && folded.size === 0) return;
      const isMore = await feedListeners({ reader, turns }, inbox, inbox.listeners, (one) => feedLater(inbox, one));
      if (isMore) inbox.isWanted = inbox.isWoken = true;
      for (const [topic, upTo] of folded) settleDue(inbox, topic, upTo);
    } catch (err) {
      inbox.isWanted ||= isWanted;
      throw err;
    }
  };

  /** How far each topic with due events was folded before the inbox is read, where that is beyond the next due one. */
  const foldedOf = async ({ tenantId, due }: Inbox): Promise<Map<Topic, number>> => {
    const folded = new Map<Topic, number>();
    for (const [topic, { partition, next }] of due) {
      const upTo = (await positionsOf(reader, name, { tenantId, partition })).get(topic) ?? 0;
      if (upTo > next) folded.set(topic, upTo);
    }
    return folded;
  };

  /** What a slow reader hasn't room for stays in the read model until it has; nobody waits for it. */
  const feedLater = (inbox: Inbox, listener: Listener): void => {
    if (listener.isWaiting) return;
    listener.isWaiting = true;
    void listener.stream.room().then((isOpen) => {
      listener.isWaiting = false;
      if (!isOpen) return;
      inbox.isWanted = true;
      wake(inbox);
    });
  };

  /** What the log has and the read model hasn't yet when a stream begins came before its tail: it is due as well. */
  const expectWhatIsThere = async (inbox: Inbox, stream: EventStream): Promise<void> => {
    const partition = inboxPartition(inbox.tenantId, inbox.recipient, log.partitioning);
    try {
      const { tenantId } = inbox;
      const [ends, folded] = [await endsNow(), await positionsOf(reader, name, { tenantId, partition })];
      for (const topic of inboxTopics) {
        const [next, end] = [folded.get(topic) ?? 0, ends.get(topic)?.[partition] ?? 0];
        const due = inbox.due.get(topic) ?? { partition, next, last: end - 1 };
        if (next < end)
          inbox.due.set(topic, { partition, next: Math.min(next, due.next), last: Math.max(end - 1, due.last) });
      }
      inbox.isWanted = true;
      wake(inbox);
    } catch (err) {
      logger.warn('an inbox stream could not be begun', { tenantId: inbox.tenantId, err });
      stream.end();
    }
  };

  const start = (): void => {
    const untail = log.tail(inboxTopics, take);
    const unsubscribe = reader.onChange(name, feed);
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
        isFeeding: false,
        isWoken: false,
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

    /** Where a stream begins: at what it has told last, or at the present end when there is none, or none in this log. */
    async beginning({ tenantId, recipient }: InboxAddress, last: InboxMarks | null): Promise<InboxMarks> {
      const partition = inboxPartition(tenantId, recipient, log.partitioning);
      const isLost = last === null || isBeyond(last, partition, await endsNow());
      return isLost ? inboxMarks(reader, tenantId, recipient) : last;
    },
  };
}

/** The log was put back from an earlier time, or is another one. Marks are offsets of what was told. */
function isBeyond({ sequence, readOffset }: InboxMarks, partition: number, ends: LogEnds): boolean {
  const endOf = (topic: Topic) => ends.get(topic)?.[partition] ?? 0;
  return sequence >= endOf(deliveriesTopic) || readOffset >= endOf(inboxTopic);
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
