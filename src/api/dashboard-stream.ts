// The dashboard's live stream: each change of a notification's status, once the read model has it, so that a GET never knows less than the stream.
//
//   log.tail ──> status change, ranked ──> waits for the read model's position ──> every stream of the tenant

import type { NotificationEvent } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { StatusChange } from '../domain/status-change.ts';
import { createStatusFilter, statusChangeOf } from '../domain/status-change.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { notificationsReadModel } from '../projections/notifications/index.ts';
import { isoTime } from './record.ts';
import type { EventStream } from './sse.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'tail'>;
  readonly reader: Pick<ReadModelReader, 'positions' | 'onChange'>;
  readonly logger: Logger;
}

/** Announcements waiting for the read model; past it (it stands still) the streams end and their clients look anew. 20,000 of 300 bytes: 6 MB. */
const waitingMax = 20_000;
/** Notifications whose last announced status is remembered: 50,000 of about 100 bytes. */
const rememberedMax = 50_000;
const lateMs = 100;

export type DashboardStreams = ReturnType<typeof createDashboardStreams>;

/** Follows the log only while somebody listens. */
export function createDashboardStreams({ log, reader, logger }: Dependencies) {
  const listeners = new Map<TenantId, Set<EventStream>>();
  const { name } = notificationsReadModel.definition;
  let waiting: LogEntry[] = [];
  let stop: (() => void) | null = null;
  let filter = createStatusFilter(rememberedMax);
  let isTelling = false;
  let isChanged = false;
  let late: NodeJS.Timeout | null = null;

  const take = (entry: LogEntry): void => {
    if (entry.event === null || !listeners.has(entry.event.tenantId)) return;
    waiting.push(entry);
    // The read model may have been faster than the tail, and then tells of no change any more.
    late ??= setTimeout(() => {
      late = null;
      void tell();
    }, lateMs);
    if (waiting.length > waitingMax) {
      logger.warn('dashboard streams end: the read model does not keep up', { waiting: waiting.length });
      endAll();
    }
  };

  const endAll = (): void => {
    waiting = [];
    for (const streams of listeners.values()) for (const stream of streams) stream.end();
  };

  /** Tells what the read model has by now. One run at a time; a change meanwhile makes another. */
  const tell = async (): Promise<void> => {
    isChanged = true;
    if (isTelling) return;
    isTelling = true;
    try {
      while (isChanged) {
        isChanged = false;
        const folded = await foldedPositions();
        const entries = waiting;
        waiting = [];
        const later = entries.filter((entry) => !announceIfFolded(entry, folded));
        waiting = later.length === 0 ? waiting : [...later, ...waiting];
      }
    } catch (err) {
      logger.warn('the dashboard streams wait for the read model', { err });
    } finally {
      isTelling = false;
    }
  };

  const foldedPositions = async () => {
    const partitions = [...new Set(waiting.map((entry) => entry.partition))];
    return new Map(
      await Promise.all(partitions.map(async (number) => [number, await reader.positions(name, number)] as const)),
    );
  };

  type Folded = Awaited<ReturnType<typeof foldedPositions>>;

  const announceIfFolded = ({ topic, partition, offset, event }: LogEntry, folded: Folded): boolean => {
    if ((folded.get(partition)?.get(topic) ?? 0) <= offset) return false;
    if (event !== null && 'notificationId' in event) announce(event);
    return true;
  };

  const announce = (event: NotificationEvent): void => {
    const change = statusChangeOf(event);
    const streams = listeners.get(event.tenantId);
    if (change === null || streams === undefined || !filter.isLater(event.notificationId, change)) return;
    const data = messageOf(event, change);
    for (const stream of streams) stream.send({ data });
  };

  const start = (): void => {
    const untail = log.tail(notificationsReadModel.topics, take);
    const unsubscribe = reader.onChange(name, () => void tell());
    stop = () => {
      untail();
      unsubscribe();
      if (late !== null) clearTimeout(late);
      late = null;
      waiting = [];
      filter = createStatusFilter(rememberedMax);
    };
  };

  return {
    /** Sends the tenant's changes from now on. Returns the call that ends it. */
    add(tenantId: TenantId, stream: EventStream): () => void {
      const streams = listeners.get(tenantId) ?? new Set();
      listeners.set(tenantId, streams.add(stream));
      if (stop === null) start();
      stream.send({ data: { event: 'connected', tenantId } });
      return () => {
        streams.delete(stream);
        if (streams.size === 0 && listeners.get(tenantId) === streams) listeners.delete(tenantId);
        if (listeners.size > 0) return;
        stop?.();
        stop = null;
      };
    },
  };
}

function messageOf(event: NotificationEvent, { status, error }: StatusChange) {
  const { notificationId, channel, recipient, occurredAt } = event;
  return { notificationId, status, channel, recipient, error, timestamp: isoTime(occurredAt) };
}
