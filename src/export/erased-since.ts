// Which rows of an export tell of what was erased since it was begun: the log hides it by now, the files don't.

import { settingsTopic } from '../domain/topics.ts';
import type { Cell, Row } from './columns.ts';
import { partitionsOf } from './filter.ts';
import type { Manifest } from './manifest.ts';
import type { ExportedLog } from './plan.ts';
import { tables } from './tables/index.ts';

export interface ErasedSince {
  /** Of a recipient. The log passes over the events of an erased tenant: none of its rows is met. */
  isErased(row: Row): boolean;
  readonly tenants: number;
}

/** Columns that name what an erasure names. */
const namingColumns = ['id', 'notificationId', 'eventId'];

/** @throws Error when the log can't be read */
export async function erasedSince(
  log: ExportedLog,
  { table, filter, erasures, begunAt }: Manifest,
): Promise<ErasedSince> {
  const erased = new Set<Cell>();
  const tenants = new Set<string>();
  const ends = await log.ends(settingsTopic);
  for (const partition of partitionsOf(filter, log.partitioning)) {
    // One that doesn't say where knows those of its beginning.
    const from = erasures?.[partition] ?? (await log.offsetAt(settingsTopic, partition, Date.parse(begunAt)));
    const to = ends[partition] ?? 0;
    if (from >= to) continue;
    for await (const { head, event } of log.read({ topic: settingsTopic, partition, from, to })) {
      if (head?.type === 'TenantErased' && (filter.tenant ?? head.tenantId) === head.tenantId)
        tenants.add(head.tenantId);
      if (head?.type !== 'RecipientErased' || event?.type !== 'RecipientErased') continue;
      for (const id of [...event.notificationIds, ...event.eventIds]) erased.add(id);
    }
  }
  if (erased.size === 0) return { isErased: () => false, tenants: tenants.size };
  const { columns } = tables[table];
  const naming = columns.flatMap(({ name }, i) => (namingColumns.includes(name) ? [i] : []));
  const [type, payload] = ['type', 'payload'].map((name) => columns.findIndex((column) => column.name === name));
  const isErased = (row: Row): boolean =>
    naming.some((i) => erased.has(row[i] ?? null)) ||
    (row[type ?? -1] === 'InboxRead' && readOf(row[payload ?? -1]).some((id) => erased.has(id)));
  return { isErased, tenants: tenants.size };
}

/** The items that an InboxRead names, in one of many. */
function readOf(payload: Cell | undefined): readonly string[] {
  return typeof payload === 'string' ? (JSON.parse(payload) as { notificationIds: string[] }).notificationIds : [];
}
