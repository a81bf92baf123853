// Reads the read models as a dashboard does, and holds the statistics against the records.

import type { Answer, Herald } from './herald.ts';
import { until } from './until.ts';

const readWithinMs = 60_000;

export interface NotificationRecord {
  readonly id: string;
  readonly channel: string;
  readonly priority: string;
  readonly status: string;
  readonly attemptCount: number;
  readonly lastError: string | null;
  readonly provider: string | null;
  readonly [field: string]: unknown;
}

export interface Statistics {
  readonly total: number;
  readonly statusCounts: Readonly<Record<string, number>>;
  readonly channelCounts: Readonly<Record<string, number>>;
  readonly priorityCounts: Readonly<Record<string, number>>;
  readonly successRate: number;
  readonly failedRate: number;
  readonly [field: string]: unknown;
}

/** Every record of the tenant, or of those that the filter lets through, page by page. */
export async function allRecords(
  herald: Pick<Herald, 'dashboard'>,
  filter: Readonly<Record<string, string>> = {},
): Promise<NotificationRecord[]> {
  const records: NotificationRecord[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ ...filter, limit: '100', ...(cursor === null ? {} : { cursor }) });
    const body = await read(herald, `/notifications?${query.toString()}`);
    records.push(...(body['data'] as NotificationRecord[]));
    cursor = (body['pagination'] as { nextCursor: string | null }).nextCursor;
  } while (cursor !== null);
  return records;
}

/** Whether a search finds every record. It may lag behind the records: `herald_projector_lag` is of the look before, seconds ago. */
export async function isSearchLevel(herald: Pick<Herald, 'dashboard'>): Promise<boolean> {
  const recipients = (await allRecords(herald)).map(({ recipient }) => String(recipient));
  const prefixes = new Set(recipients.map((recipient) => recipient.slice(0, 3)));
  let found = 0;
  for (const recipientPrefix of prefixes) found += (await allRecords(herald, { recipientPrefix })).length;
  return found === recipients.length;
}

export async function recordOf(herald: Herald, id: string): Promise<NotificationRecord | null> {
  const { status, body } = await herald.call('GET', `/api/v1/notify/${id}`, {
    headers: { 'x-api-key': herald.apiKey },
  });
  return status === 200 ? (body['notification'] as NotificationRecord) : null;
}

export async function statisticsOf(herald: Pick<Herald, 'dashboard'>, range = 'all'): Promise<Statistics> {
  return (await read(herald, `/dashboard/stats?range=${range}`)) as unknown as Statistics;
}

/** Asks again, as a client does, when a busy machine had no time for it: 429 or 503. */
async function read({ dashboard }: Pick<Herald, 'dashboard'>, path: string): Promise<Answer['body']> {
  return until(
    async () => {
      const { status, body } = await dashboard('GET', path);
      if (status === 200) return body;
      if (status === 429 || status === 503) return null;
      throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`);
    },
    { timeoutMs: readWithinMs, everyMs: 200, what: path },
  );
}

/** What the statistics have to say of these records. */
export function groupedBy(
  records: readonly NotificationRecord[],
  field: 'status' | 'channel' | 'priority',
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const record of records) counts[record[field]] = (counts[record[field]] ?? 0) + 1;
  return counts;
}

export function withoutZeros(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}
