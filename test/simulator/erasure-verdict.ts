// What must hold of a world's erasures once everything has come to its end: nothing of them is shown, nobody else's documents differ, and what is counted is what there was.

import { erasureOf } from '../../src/commands/start-erasure.ts';
import { isOfWholeTenant } from '../../src/domain/job.ts';
import { createErasures } from '../../src/domain/erasure.ts';
import type { NotificationId } from '../../src/domain/ids.ts';
import type { StoredJob } from '../../src/ports/job-store.ts';
import type { NotificationDocument } from '../../src/projections/notifications/document.ts';
import { notificationsCollection } from '../../src/projections/notifications/document.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { statisticsCollection } from '../../src/projections/notifications/statistics-cells.ts';
import type { DecodedEntry } from '../../src/projections/read-model.ts';
import type { Folded } from '../projections/folded.ts';
import { documentsOf, folded } from '../projections/folded.ts';
import { secretBox, seenBy, shows } from './erasures.ts';
import { virtualMs } from './log.ts';
import type { World } from './world.ts';

/** What whoever folds the log anew is handed: everything that is erased is known to him. */
export function asErased(entries: readonly DecodedEntry[]): DecodedEntry[] {
  const erasures = createErasures();
  for (const { event } of entries) erasures.note(event);
  return entries
    .filter(({ head }) => !erasures.isPassedOver(head))
    .map((entry) => seenBy(erasures, entry) as DecodedEntry);
}

/** @param records the read model of the records, folded anew */
export async function erasuresWrongIn(
  world: World,
  entries: readonly DecodedEntry[],
  records: Folded,
): Promise<string[]> {
  return [...shownIn(world), ...(await jobsWrongIn(world)), ...(await othersWrongIn(world, entries, records))];
}

/** In all that is stored, of whatever read model. */
function shownIn({ stored, witness }: World): string[] {
  const { notifications, tenants } = witness.erasures;
  const wrong: string[] = [];
  for (const [collection, documents] of stored.collections) {
    for (const [id, { text }] of documents) {
      const isOfErased = notifications.has(id as NotificationId) && shows(text, id as NotificationId);
      const tenant = [...tenants.keys()].find((tenantId) => text.includes(`"tenantId":"${tenantId}"`));
      if (isOfErased) wrong.push(`${collection}/${id} still shows who is erased: ${text}`);
      if (tenant !== undefined) wrong.push(`${collection}/${id} is still there of ${tenant}: ${text}`);
    }
  }
  return wrong;
}

/** Each has named all that there was when it was asked for, and nothing that came after it. */
async function jobsWrongIn({ jobs, witness, brokers }: World): Promise<string[]> {
  if (jobs === null) return [];
  const wrong: string[] = [];
  const asked: (ReturnType<typeof erasureOf> & Pick<StoredJob, 'id' | 'tenantId' | 'createdAt'>)[] = [];
  for (const { id, tenantId, kind, filter, createdAt } of jobs.added) {
    if (kind !== 'erase') continue;
    const job = await jobs.store.find(tenantId, id);
    const isRemoved = job === null && witness.erasures.tenants.has(tenantId);
    if (!isRemoved && job?.state !== 'done') wrong.push(`the erasure ${id} is ${job?.state ?? 'gone'}`);
    if (!isOfWholeTenant({ filter }))
      asked.push({ ...erasureOf({ tenantId, filter }, secretBox), id, tenantId, createdAt });
    else if (!witness.erasures.tenants.has(tenantId)) wrong.push(`the erasure ${id} of ${tenantId} has not said so`);
  }
  for (const { event, appendedAt } of brokers.all) {
    if (event?.type !== 'NotificationRequested' || witness.erasures.tenants.has(event.tenantId)) continue;
    const { notificationId, requestedAt } = event;
    const of = asked.filter(({ tenantId, recipient }) => tenantId === event.tenantId && recipient === event.recipient);
    const isNamed = witness.erasures.notifications.has(notificationId);
    if (!isNamed && of.some(({ createdAt }) => appendedAt <= createdAt && requestedAt <= createdAt))
      wrong.push(`${notificationId} of ${virtualMs(appendedAt)} ms is not erased`);
    // One whose bytes came to the log without its recipient was known to be erased.
    if (isNamed && event.recipient !== '' && !of.some(({ createdAt }) => requestedAt <= createdAt))
      wrong.push(`${notificationId} of ${virtualMs(requestedAt)} ms is erased, and was asked for later`);
  }
  return wrong;
}

/** Of a log in which nobody was ever erased: records and cells of tenants that are still there. */
async function othersWrongIn({ witness }: World, entries: readonly DecodedEntry[], records: Folded): Promise<string[]> {
  const { notifications, tenants } = witness.erasures;
  const without = entries.filter(({ event }) => !sayErased.has(event.type) && !tenants.has(event.tenantId));
  const unerased = await folded(notificationsReadModel, [without]);
  const wrong: string[] = [];
  const found = new Map(
    documentsOf<NotificationDocument>(records, notificationsCollection.name).map((one) => [one.id, one]),
  );
  for (const before of documentsOf<NotificationDocument>(unerased, notificationsCollection.name)) {
    const after = found.get(before.id);
    if (after?.status !== before.status || after.attempts.length !== before.attempts.length)
      wrong.push(`${before.id} was ${before.status}, and is ${after?.status ?? 'gone'}`);
  }
  for (const key of new Set([...unerased.keys(), ...records.keys()])) {
    const [collection, id = ''] = key.split('/');
    const isOfErased = collection === notificationsCollection.name && notifications.has(id as NotificationId);
    const isLooked = collection === notificationsCollection.name || collection === statisticsCollection.name;
    if (isLooked && !isOfErased && unerased.get(key) !== records.get(key))
      wrong.push(`${key} is ${records.get(key)}, and was ${unerased.get(key)} without the erasures of others`);
  }
  return wrong;
}

const sayErased: ReadonlySet<string> = new Set(['RecipientErased', 'TenantErased', 'TenantForgotten']);
