// A tenant's events in the order in which the log took them: its partitions are read side by side and merged by the time of the append. Whose an event is is
// told by its first bytes: what is of others is passed over and never decoded.
//
//   notifications.email.default  3 ──> 09:00 ... ┐
//   notifications.deliveries     3 ──> 09:01 ... ├─ oldest first ──> the tenant's? of the type? ──> event
//   notifications.deliveries     7 ──> 09:02 ... ┘

import type { DomainEvent } from '../domain/events.ts';
import type { NotificationId, TenantId } from '../domain/ids.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { HistoryType, Slot } from './tenant-slots.ts';

/** Offsets [from, to) of a slot. */
export interface HistoryRange extends Slot {
  readonly from: number;
  readonly to: number;
}

export interface HistoryAsked {
  readonly tenantId: TenantId;
  readonly ranges: readonly HistoryRange[];
  /** null: all of them. */
  readonly type: HistoryType | null;
  readonly notificationId: NotificationId | null;
  /** So many events of others, those of erased tenants among them, and of the tenant's that aren't asked for, are passed over; then it pauses. */
  readonly passedMax: number;
  /** Whether reading should pause, whatever was found: asked between events. */
  isOver(): boolean;
}

export interface HistoryEvent {
  readonly entry: LogEntry;
  readonly event: DomainEvent;
}

export interface TenantHistory {
  /** The next event, the same until it is taken; null: there is none, or it pauses. @throws Error when the log can't be read */
  peek(): Promise<HistoryEvent | null>;
  take(): Promise<void>;
  /** Whether all ranges were read to their ends. */
  isAtEnd(): boolean;
  /** Where each range is to be read on. */
  places(): readonly number[];
  /** The first offset that is there, where a range begins beyond what it asked for. */
  beginnings(): readonly number[];
  /** Lets go of what is read ahead. */
  close(): Promise<void>;
}

interface Dependencies {
  readonly log: Pick<EventLog, 'read' | 'isTenantErased'>;
  readonly turns: ThreadTurns;
}

interface Source {
  readonly range: HistoryRange;
  readonly entries: AsyncIterator<LogEntry>;
  /** null: the range is read to its end. */
  next: LogEntry | null;
  place: number;
}

/**
 * Read ahead of each partition: some 16 small events of SQLite, of which a longer one stays in the file; one batch of Kafka, 256 KiB at most as Herald writes
 * them. A tenant has 30 partitions: 1 MiB, on Kafka 7.5.
 */
const aheadBytes = 32 * 1024;
/** Between looks at whether the thread is somebody else's turn. */
const eventsPerLook = 16;
/** To fetch an event and read its head, measured on SQLite. */
const eventMs = 0.004;

export function openTenantHistory({ log, turns }: Dependencies, asked: HistoryAsked): TenantHistory {
  const sources = asked.ranges.map((range): Source => ({
    range,
    // Of erased tenants too, and passed over here: a long stretch of theirs, passed over within the log, would hold a page up for longer than it may take.
    entries: log.read({ ...range, aheadBytes, ofErased: 'shown' })[Symbol.asyncIterator](),
    next: null,
    place: range.from,
  }));
  const firsts: number[] = asked.ranges.map(({ from }) => from);
  let isOpen = false;
  let passed = 0;
  let current: (HistoryEvent & { readonly source: Source }) | null = null;

  const advance = async (source: Source): Promise<void> => {
    const { value, done } = await source.entries.next();
    source.next = done === true ? null : value;
    source.place = source.next?.offset ?? Math.max(source.place, source.range.to);
  };

  const open = async (): Promise<void> => {
    isOpen = true;
    await Promise.all(sources.filter(({ range: { from, to } }) => from < to).map(advance));
    for (const [i, { place }] of sources.entries()) firsts[i] = place;
  };

  const pass = async (source: Source): Promise<void> => {
    await advance(source);
    passed++;
    if (passed % eventsPerLook !== 0) return;
    turns.charge(eventsPerLook * eventMs);
    if (turns.isOver()) await turns.next();
  };

  const find = async (): Promise<typeof current> => {
    for (;;) {
      const source = oldestOf(sources);
      if (source === null) return null;
      const { next: entry } = source;
      const event = entry === null ? null : wantedOf(entry, asked);
      if (entry !== null && event !== null && !log.isTenantErased(asked.tenantId)) return { entry, event, source };
      if (passed >= asked.passedMax || (passed > 0 && asked.isOver())) return null;
      await pass(source);
    }
  };

  return {
    async peek() {
      if (!isOpen) await open();
      current ??= await find();
      return current;
    },
    async take() {
      if (current === null) return;
      const { source } = current;
      current = null;
      await advance(source);
    },
    isAtEnd: () => isOpen && oldestOf(sources) === null,
    places: () => sources.map(({ place }) => place),
    beginnings: () => firsts,
    async close() {
      await Promise.all(sources.map(async ({ entries }) => entries.return?.()));
    },
  };
}

/** Of two of the same ms the one of the earlier source: a second reading merges as the first did. */
function oldestOf(sources: readonly Source[]): Source | null {
  let oldest: Source | null = null;
  let oldestAt = Infinity;
  for (const source of sources) {
    if (source.next === null || source.next.appendedAt >= oldestAt) continue;
    oldest = source;
    oldestAt = source.next.appendedAt;
  }
  return oldest;
}

/** What doesn't decode is nobody's that could be told. */
function wantedOf(entry: LogEntry, { tenantId, type, notificationId }: HistoryAsked): DomainEvent | null {
  const { head } = entry;
  if (head === null || head.tenantId !== tenantId || (type !== null && head.type !== type)) return null;
  const { event } = entry;
  return event !== null && (notificationId === null || isAbout(event, notificationId)) ? event : null;
}

function isAbout(event: DomainEvent, id: NotificationId): boolean {
  if (event.type === 'InboxRead') return event.notificationIds.includes(id);
  return 'notificationId' in event && event.notificationId === id;
}
