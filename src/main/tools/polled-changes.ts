// Changes by asking again and again, for a key of scope read: what is accepted from now on, and what of it hasn't ended.
//
//   each look:  the list from a little before the newest one known, newest first; then, one by one, what is older and hasn't ended

import { setTimeout as sleep } from 'node:timers/promises';

import type { Change, ChangeFilter, Say } from './changes.ts';
import type { Client } from './client.ts';
import { HeraldRefusal, passesAfterMs } from './client.ts';
import type { NotificationRecord } from './notification-text.ts';

const lookEveryMs = 2000;
/** One partition's records may come later than another's: they are looked for so long behind the newest. */
const overlapMs = 30_000;
/** 2,000 records a look, 30 reads; a tenant may have 1,000 in 10 s. */
const pagesMax = 20;
const singlesMax = 10;
/** Of those that haven't ended; 100 bytes each. */
const followedMax = 10_000;

interface Known {
  readonly status: string;
  readonly createdAt: string;
}

/** Without end. @throws StartError when the first look fails, or a later one always will */
export async function* polledChanges(client: Client, filter: ChangeFilter, say: Say): AsyncGenerator<Change> {
  const known = new Map<string, Known>();
  let newest: string | null = null;
  let failures = 0;
  const look = async function* (looks: number): AsyncGenerator<Change> {
    const isNow = looks >= beforeNow;
    const from = newest === null ? null : new Date(Date.parse(newest) - overlapMs).toISOString();
    const listed = await list(client, filter, from, looks === 0 ? 1 : pagesMax);
    if (isNow && listed.isCut)
      say(`more than ${pagesMax * pageLimit} notifications at once: THE OLDER ONES OF THEM ARE NOT SHOWN`);
    const singles = await oneByOne(client, known, new Set(listed.records.map(({ id }) => id)));
    for (const record of [...singles, ...listed.records.toReversed()]) {
      const { id, status, createdAt } = record;
      const isNews = isNow && known.get(id)?.status !== status;
      known.delete(id);
      known.set(id, { status, createdAt });
      if (newest === null || createdAt > newest) newest = createdAt;
      if (isNews) yield changeOf(record);
    }
    forget(known, from, say);
  };
  for (let looks = 0; ;) {
    try {
      yield* look(looks++);
      if (looks < beforeNow) continue;
      if (looks === beforeNow)
        say(`asking every ${lookEveryMs / 1000} s, for what is accepted from now on; a token has the live stream`);
      else if (failures > 0) say('it answers again');
      failures = 0;
      await sleep(lookEveryMs);
    } catch (error) {
      const waitMs = looks <= beforeNow ? null : passesAfterMs(error, failures++);
      if (waitMs === null) throw error;
      say(`${(error as Error).message} Asking again in ${waitMs / 1000} s.`);
      await sleep(waitMs);
    }
  }
}

/** The first look finds where the newest is, the second all that the overlap has: what was there before. */
const beforeNow = 2;
const pageLimit = 100;
const ends: ReadonlySet<string> = new Set(['DELIVERED', 'FAILED', 'CANCELLED']);

interface Page {
  readonly data: NotificationRecord[];
  readonly pagination: { readonly nextCursor: string | null };
}

/** Newest first. */
async function list(client: Client, filter: ChangeFilter, from: string | null, pages: number) {
  const query = new URLSearchParams({ limit: String(pageLimit), ...(from === null ? {} : { from }) });
  const { channels, priorities, recipients } = filter;
  for (const [name, values] of Object.entries({ channel: channels, priority: priorities, recipient: recipients })) {
    const [only] = values;
    if (only !== undefined && values.length === 1) query.set(name, only);
  }
  const records: NotificationRecord[] = [];
  for (let i = 0; i < pages; i++) {
    const { data, pagination } = await client.call<Page>('GET', `/notifications?${query.toString()}`, 'reader');
    records.push(...data);
    if (pagination.nextCursor === null) return { records, isCut: false };
    query.set('cursor', pagination.nextCursor);
  }
  return { records, isCut: true };
}

/** Some of those that haven't ended and weren't listed; the others in later looks. */
async function oneByOne(
  client: Client,
  known: Map<string, Known>,
  listed: ReadonlySet<string>,
): Promise<NotificationRecord[]> {
  const open = [...known].filter(([id, { status }]) => !ends.has(status) && !listed.has(id)).slice(0, singlesMax);
  const records: NotificationRecord[] = [];
  for (const [id] of open) {
    try {
      records.push(
        (await client.call<{ readonly notification: NotificationRecord }>('GET', `/notifications/${id}`, 'reader'))
          .notification,
      );
    } catch (error) {
      // Erased, or older than what is kept.
      if (!(error instanceof HeraldRefusal) || error.status !== 404) throw error;
      known.delete(id);
    }
  }
  return records;
}

/** What has ended is kept as long as the list may have it; of the others the newest. */
function forget(known: Map<string, Known>, from: string | null, say: Say): void {
  for (const [id, { status, createdAt }] of known)
    if (ends.has(status) && from !== null && createdAt < from) known.delete(id);
  const surplus = known.size - followedMax;
  if (surplus <= 0) return;
  for (const id of [...known.keys()].slice(0, surplus)) known.delete(id);
  say(`more than ${followedMax} notifications haven't ended: ${surplus} OF THEM ARE NOT FOLLOWED ANY MORE`);
}

function changeOf({ id, status, channel, recipient, lastError, updatedAt }: NotificationRecord): Change {
  const error = status === 'FAILED' || status === 'RETRYING' ? lastError : null;
  return { notificationId: id, status, channel, recipient, error, timestamp: updatedAt };
}
