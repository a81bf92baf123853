// Reads the read models as a dashboard does, and holds the statistics against the records.

import type { Herald } from './herald.ts';

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

/** Every record of the tenant, page by page. */
export async function allRecords(herald: Pick<Herald, 'dashboard'>): Promise<NotificationRecord[]> {
  const records: NotificationRecord[] = [];
  let cursor: string | null = null;
  do {
    const { status, body } = await herald.dashboard(
      'GET',
      `/notifications?limit=100${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    if (status !== 200) throw new Error(`the list answered ${status}: ${JSON.stringify(body)}`);
    records.push(...(body['data'] as NotificationRecord[]));
    cursor = (body['pagination'] as { nextCursor: string | null }).nextCursor;
  } while (cursor !== null);
  return records;
}

export async function recordOf(herald: Herald, id: string): Promise<NotificationRecord | null> {
  const { status, body } = await herald.call('GET', `/api/v1/notify/${id}`, {
    headers: { 'x-api-key': herald.apiKey },
  });
  return status === 200 ? (body['notification'] as NotificationRecord) : null;
}

export async function statisticsOf(herald: Pick<Herald, 'dashboard'>, range = 'all'): Promise<Statistics> {
  const { status, body } = await herald.dashboard('GET', `/dashboard/stats?range=${range}`);
  if (status !== 200) throw new Error(`the statistics answered ${status}: ${JSON.stringify(body)}`);
  return body as unknown as Statistics;
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
