// The erasure of a whole tenant by a command: as a job, to its end, and then the look for what is left.

import { eraseTenant, startTenantErasure } from '../commands/erase-tenant.ts';
import type { TenantId } from '../domain/ids.ts';
import { wholeTenant } from '../domain/job.ts';
import { allTopics, partitionsOfTenant } from '../domain/topics.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { formerKeysOf } from '../ports/settings-store.ts';
import { readModels } from '../projections/index.ts';
import { notificationsCollection } from '../projections/notifications/document.ts';
import type { NotificationDocument } from '../projections/notifications/document.ts';
import { waitForPosition } from '../projections/wait.ts';
import type { Adapters } from './adapters.ts';
import type { Erasing } from './erase-recipient.ts';
import { ended } from './erase-recipient.ts';
import { StartError } from './start-error.ts';

/** Of the newest notifications so many are looked for in files. */
const soughtRecords = 20;
/** Of each text so much: it may be cut, or written in lines, where it is long. */
const soughtLength = 48;
/** What is shorter may be anybody's. */
const soughtLengthMin = 12;
/** Of the records that there were and are left: what is beyond is a number, and nothing else. */
const countedMax = 10_000;
/** As long as others have, before it is said that something stands still. */
const foldWaitMs = 30_000;

export function erasureOfTenant(tenantId: TenantId): Erasing {
  return async (adapters, reader) => {
    const { settings, log } = adapters;
    const isKnown = (await settings.settings(tenantId)) !== null || log.isTenantErased(tenantId);
    if (!isKnown) throw new StartError(`There is no tenant ${tenantId}.`);
    const values = await plainValuesOf(adapters, reader, tenantId);
    const total = (await countOf(reader, tenantId)).count;
    // First the work, so that whoever is killed behind it is followed by another; then at once what nobody is to wait for.
    const id = await startTenantErasure(adapters)(tenantId, total);
    if (id === null)
      throw new StartError(`Tenant ${tenantId} is being erased already, as often as may wait: wait for that.`);
    const positions = await eraseTenant(adapters)(tenantId);
    await ended(adapters, { tenantId, id });
    await adapters.jobs.removeAllBut(tenantId, wholeTenant);
    for (const position of positions)
      for (const readModel of readModels)
        await waitForPosition({ reader, clock: adapters.clock }, readModel, { ...position, tenantId }, foldWaitMs);
    return {
      what: 'tenant',
      left: [...(await leftInLog(adapters, tenantId)), ...(await leftInStores(adapters, reader, tenantId))],
      sought: values.map((text) => ({ text, inAnyCase: false })),
      remark: 'A text that another tenant has as well is found as its own.',
    };
  };
}

/** Of its own: sealed texts, templates, its address, and texts of its newest notifications. What was erased before has none to look for. */
async function plainValuesOf(
  { settings }: Adapters,
  reader: ReadModelReader,
  tenantId: TenantId,
): Promise<readonly string[]> {
  const stored = await settings.settings(tenantId);
  if (stored === null) return [];
  const { tenant, keys, namedKeys, providers } = stored;
  const templates = await settings.templates(tenantId);
  const { documents } = await newest(reader, tenantId);
  const texts = [
    tenant.subject,
    tenant.email,
    tenant.sealedWebhookSecret,
    ...[...keys, ...namedKeys].map(({ sealedKey }) => sealedKey),
    ...providers.flatMap((one) => [one.sealedApiKey, one.sealedCallbackSecret ?? null]),
    ...providers.flatMap(formerKeysOf).map(({ sealedKey }) => sealedKey),
    ...templates.flatMap(({ subject, body }) => [subject, body]),
    ...documents.flatMap(({ request }) => [request?.subject ?? null, request?.body ?? null]),
  ];
  return [...new Set(texts.flatMap((text) => (text === null ? [] : [soughtOf(text)])))].filter(
    (text) => text.length >= soughtLengthMin,
  );
}

/** The longest part of its beginning that is written the same way everywhere. */
function soughtOf(text: string): string {
  const pieces = text.slice(0, 1024).split(/[^\w@.:/ -]+/);
  const [longest = ''] = pieces.toSorted((a, b) => b.length - a.length);
  return longest.trim().slice(0, soughtLength);
}

/** Texts of these are looked for. */
export function newest(reader: ReadModelReader, tenantId: TenantId) {
  return reader.find<NotificationDocument>({
    collection: notificationsCollection.name,
    equals: { tenantId },
    order: { fields: ['listedAt'], direction: 'descending' },
    limit: soughtRecords,
    bytesMax: 1024 * 1024,
  });
}

/** So many at least. */
export function countOf(reader: ReadModelReader, tenantId: TenantId) {
  return reader.count({ collection: notificationsCollection.name, equals: { tenantId } }, countedMax);
}

/** Events as any reader of the log meets them. */
async function leftInLog({ log }: Adapters, tenantId: TenantId): Promise<string[]> {
  const lines: string[] = [];
  for (const topic of allTopics) {
    const ends = await log.ends(topic);
    for (const partition of partitionsOfTenant(tenantId, log.partitioning)) {
      let count = 0;
      for await (const { head } of log.read({ topic, partition, from: 0, to: ends[partition] ?? 0 }))
        if (head?.tenantId === tenantId && !saysThatItIsErased.has(head.type)) count++;
      if (count > 0) lines.push(`the log: ${count} events of ${topic}, partition ${partition}`);
    }
  }
  return lines;
}

/** Ids alone. */
const saysThatItIsErased: ReadonlySet<string> = new Set([
  'TenantErased',
  'TenantForgotten',
  'RecipientErased',
  'NotificationsForgotten',
]);

async function leftInStores({ settings }: Adapters, reader: ReadModelReader, tenantId: TenantId): Promise<string[]> {
  const { count } = await countOf(reader, tenantId);
  const templates = await settings.templates(tenantId);
  return [
    ...(count === 0 ? [] : [`the read models: ${count} records at least`]),
    ...((await settings.settings(tenantId)) === null && templates.length === 0 ? [] : ['the settings']),
  ];
}
