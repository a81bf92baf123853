// One of a tenant's dashboard streams: brought up to date with what it has missed, while what is announced is held for it; from then on it is told as it comes.

import type { NotificationId, TenantId } from '../domain/ids.ts';
import { createStatusFilter } from '../domain/status-change.ts';
import type { Logger } from '../ports/logger.ts';
import type { Announcement, Told } from './dashboard-announcements.ts';
import type { CatchUpDependencies } from './dashboard-catch-up.ts';
import { createCatchUp, eventsMissedMax } from './dashboard-catch-up.ts';
import type { DashboardMarks } from './dashboard-marks.ts';
import type { EventStream } from './event-stream.ts';

/** Where a stream begins. */
export interface DashboardBeginning {
  readonly marks: DashboardMarks;
  /** `lost`: it was to be resumed, and can't be. */
  readonly resumes: 'no' | 'yes' | 'lost';
}

export interface Listener {
  readonly stream: EventStream;
  readonly marks: DashboardMarks;
  /** What is announced while it is brought up to date; null from then on. */
  held: Announcement[] | null;
  /** The ranks of what it was told last while it was brought up to date. */
  readonly caughtUpWith: Map<NotificationId, number>;
}

/** Held for a stream that is brought up to date; past it, it ends, and is resumed later. 2,000 of 500 bytes, shared with other streams: 1 MB. */
const heldMax = 2000;
/** The ends of topics are asked some ms apart: so much of a tenant was sent again between them at most. 20 of 100 bytes a stream. */
const caughtUpMax = 20;

export function listenerOf(stream: EventStream, marks: DashboardMarks): Listener {
  return { stream, marks, held: [], caughtUpWith: new Map() };
}

export function createBringUp(deps: CatchUpDependencies & { readonly logger: Logger }) {
  const { turns, logger } = deps;
  const catchUp = createCatchUp(deps);

  return async (tenantId: TenantId, listener: Listener, resumes: DashboardBeginning['resumes']): Promise<void> => {
    const { stream, marks, caughtUpWith } = listener;
    const filter = createStatusFilter(() => eventsMissedMax);
    const isNews = ({ notificationId, change }: Told): boolean => {
      if (!filter.isLater(notificationId, change)) return false;
      caughtUpWith.delete(notificationId);
      caughtUpWith.set(notificationId, change.rank);
      const [oldest] = caughtUpWith.keys();
      if (caughtUpWith.size > caughtUpMax && oldest !== undefined) caughtUpWith.delete(oldest);
      return true;
    };
    const tellIfLater = (one: Announcement): void => {
      if (isNews(one)) sendOne(listener, one);
      else marks.pass(one);
    };
    const piece = (run: () => void): void => turns.as(tenantId, () => turns.piece(run));
    try {
      const isDone = await catchUp(tenantId, marks, {
        began: ({ isWhole }) => sayConnected(tenantId, listener, resumes === 'lost' || (resumes === 'yes' && !isWhole)),
        async missed(one, byNow) {
          if (!(await stream.room())) return false;
          if (byNow === null) {
            piece(() => tellIfLater(one));
            return true;
          }
          // By an id that isn't behind it yet: cut before what it is by now, it is told both once more.
          piece(() => void (isNews(one) && stream.send({ id: marks.text, json: one.json })));
          if (!(await stream.room())) return false;
          marks.pass(one);
          piece(() => void (isNews(byNow) && stream.send({ id: marks.text, json: byNow.json })));
          return true;
        },
        overtaken: (one) => void marks.pass(one),
      });
      if (!isDone) return stream.end();
      marks.caughtUp();
      const held = listener.held ?? [];
      listener.held = null;
      for (const one of held) tellIfLater(one);
    } catch (err) {
      logger.warn('a dashboard stream could not be brought up to date', { tenantId, err });
      stream.end();
    }
  };
}

/** What isn't later than what it was told while it was brought up to date is of between the ends of two topics: passed over. */
export function tellOne(listener: Listener, one: Announcement): void {
  if ((listener.caughtUpWith.get(one.notificationId) ?? -1) >= one.change.rank) listener.marks.pass(one);
  else sendOne(listener, one);
}

export function hold({ stream }: Listener, held: Announcement[], one: Announcement): void {
  if (held.push(one) > heldMax) stream.end();
}

function sendOne({ stream, marks }: Listener, one: Announcement): void {
  if (marks.pass(one)) stream.send({ id: marks.text, json: one.json });
}

/** It carries an id, so that a stream that is cut before the first change is resumed as well. */
function sayConnected(tenantId: TenantId, { stream, marks }: Listener, hasGap: boolean): void {
  stream.send({ id: marks.text, data: { event: 'connected', tenantId, ...(hasGap ? { gap: true } : {}) } });
}
