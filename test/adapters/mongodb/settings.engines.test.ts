// The MongoDB settings store: the contract, writers of several processes, and what its queries read.

import { randomUUID } from 'node:crypto';

import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Document } from 'mongodb';
import { MongoClient } from 'mongodb';

import { openMongoSettingsStore } from '../../../src/adapters/mongodb/settings/store.ts';
import { createClock } from '../../../src/adapters/node/clock.ts';
import type { TemplateId, TenantId } from '../../../src/domain/ids.ts';
import type { SettingsStore } from '../../../src/ports/settings-store.ts';
import {
  settingsStoreContract,
  storedKey,
  storedNamedKey,
  storedProvider,
  storedTemplate,
  storedTenant,
} from '../../contracts/settings-store.ts';
import { engines } from '../../support/engines.ts';
import { until } from '../../support/until.ts';

const clock = createClock();
const logger = { debug() {}, info() {}, warn() {}, error() {} };
/** One for all: what it sends is recorded by the tests that look at it. */
const client = new MongoClient(engines().mongoUrl, {
  monitorCommands: true,
  writeConcern: { w: 'majority', journal: true },
  readConcern: { level: 'majority' },
});
afterAll(() => client.close());

async function makeHarness() {
  const db = client.db(`herald_settings_${randomUUID().slice(0, 8)}`);
  const open = () => openMongoSettingsStore({ connection: { client, db, close: async () => {} }, logger, clock });
  let store = await open();
  return {
    db,
    open,
    get store() {
      return store;
    },
    async reopen() {
      await store.close();
      store = await open();
    },
    async close() {
      await store.close();
      await db.dropDatabase();
    },
  };
}
type Harness = Awaited<ReturnType<typeof makeHarness>>;

settingsStoreContract('MongoDB', makeHarness);

describe('MongoDB: a settings store', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await makeHarness();
  });
  afterEach(() => harness.close());

  const tenantIds = (count: number) => Array.from({ length: count }, (_, i) => `tnt_${i}` as TenantId);
  const create = (store: SettingsStore, id: TenantId) =>
    store.createTenant(storedTenant({ id, subject: id }), storedKey({ tenantId: id, hash: id }));

  it('begins with a revision that the first tenant raises', async () => {
    const { store } = harness;
    const { revision } = await store.changesSince(0);
    await store.createTenant(storedTenant(), storedKey());
    expect((await store.changesSince(revision)).tenantIds).toEqual(['tnt_a']);
  });

  it('tells of more changes than one look holds by further looks, each tenant once', async () => {
    const { store, db } = harness;
    let { revision } = await store.changesSince(0);
    const ids = tenantIds(1100);
    await create(store, ids[0] ?? ('' as TenantId));
    const made = await db.collection('settings_tenants').findOne({});
    await db.collection('settings_tenants').insertMany(
      ids.slice(1).map((id, i) => ({
        ...made,
        _id: id as never,
        subject: id,
        keys: [{ hash: id }],
        revision: Number(made?.['revision']) + 1 + i,
      })),
    );
    const told: TenantId[] = [];
    for (let looks = 0; looks < 3; looks++) {
      const changes = await store.changesSince(revision);
      told.push(...changes.tenantIds);
      ({ revision } = changes);
    }
    expect(told).toEqual(ids);
  });

  it('may be opened by many processes at once, the first time too', async () => {
    const stores = await Promise.all(Array.from({ length: 5 }, () => harness.open()));
    const made = await Promise.all(stores.map((store, i) => create(store, `tnt_${i % 2}` as TenantId)));
    expect(made.filter(Boolean)).toHaveLength(2);
  });

  it('refuses what belongs to no tenant, and keeps nothing of it', async () => {
    const { store, db } = harness;
    await expect(store.saveProvider(storedProvider())).rejects.toThrow('There is no tenant tnt_a');
    await expect(store.createTemplate(storedTemplate(), 1000)).rejects.toThrow('There is no tenant tnt_a');
    await expect(store.replaceKey(storedKey(), 0, 5)).rejects.toThrow('There is no tenant tnt_a');
    expect(await store.template('tnt_a' as TenantId, 'tpl_1' as TemplateId)).toBeNull();
    expect(await db.collection('settings_tenants').countDocuments()).toBe(0);
  });

  it('forgets keys that had ended before a new one, so that a tenant has few', async () => {
    const { store } = harness;
    await store.createTenant(storedTenant(), storedKey());
    for (let i = 2; i <= 20; i++)
      await store.replaceKey(storedKey({ hash: `hash-${i}`, createdAt: i * 1000 }), i * 1000, 5);
    const keys = (await store.settings('tnt_a' as TenantId))?.keys ?? [];
    expect(keys.map(({ hash }) => hash)).toEqual(['hash-19', 'hash-20']);
  });

  it('takes many changes at once, from one process and from several', async () => {
    const { store } = harness;
    const stores = [store, await harness.open(), await harness.open()];
    const made = await Promise.all(tenantIds(150).map((id, i) => create(stores[i % 3] ?? store, id)));
    expect(made.filter(Boolean)).toHaveLength(150);
    expect((await store.changesSince(1)).tenantIds).toHaveLength(150);
  });

  it('refuses a change when 500 wait, and takes changes again', async () => {
    const { store } = harness;
    const changes = await Promise.allSettled(tenantIds(520).map((id) => create(store, id)));
    expect(changes.filter(({ status }) => status === 'rejected')).toHaveLength(19);
    expect(await create(store, 'tnt_later' as TenantId)).toBe(true);
  });

  it('keeps a config as it was saved, whatever its fields are named', async () => {
    const { store } = harness;
    await store.createTenant(storedTenant(), storedKey());
    const config = { 'a.b': 1, $set: { $inc: [null, 1.5] }, '': 'ü', z: 1, a: 2 };
    await store.saveProvider(storedProvider({ config }));
    const saved = (await store.settings('tnt_a' as TenantId))?.providers[0]?.config;
    expect(JSON.stringify(saved)).toBe(JSON.stringify(config));
  });
});

describe('MongoDB: settings written by several processes at once', () => {
  it('are missed by no reader that asks for changes: what it knows in the end is what is stored', async () => {
    const harness = await makeHarness();
    const ids = Array.from({ length: 60 }, (_, i) => `tnt_${i}` as TenantId);
    const stores = await Promise.all(Array.from({ length: 4 }, () => harness.open()));
    const { store } = harness;
    for (const id of ids) {
      await store.createTenant(storedTenant({ id, subject: id }), storedKey({ tenantId: id, hash: id }));
    }

    const known = new Map<TenantId, number | undefined>();
    let { revision } = await store.changesSince(0);
    const writing = new AbortController();
    let looks = 0;
    const look = async () => {
      const changes = await store.changesSince(revision);
      ({ revision } = changes);
      looks++;
      for (const id of changes.tenantIds) known.set(id, (await store.settings(id))?.providers[0]?.updatedAt);
    };
    const reading = (async () => {
      while (!writing.signal.aborted) await look();
    })();

    // Each tenant is written once: what is missed then is missed for good.
    await Promise.all(
      stores.map(async (writer, i) => {
        const own = ids.filter((_, at) => at % stores.length === i);
        for (const tenantId of own) await writer.saveProvider(storedProvider({ tenantId, updatedAt: 7 }));
      }),
    );
    writing.abort();
    await reading;
    await look();

    expect(looks).toBeGreaterThan(10);
    expect(ids.filter((id) => known.get(id) !== 7)).toEqual([]);
    const { revision: last } = await store.changesSince(0);
    expect(last).toBe(1 + 2 * ids.length);
    await harness.close();
  });

  it('have revisions in the order in which they can be seen', async () => {
    const harness = await makeHarness();
    const ids = Array.from({ length: 8 }, (_, i) => `tnt_${i}` as TenantId);
    const stores = await Promise.all(ids.map(() => harness.open()));
    const creating = ids.map((id, i) =>
      (stores[i] ?? harness.store).createTenant(
        storedTenant({ id, subject: id }),
        storedKey({ tenantId: id, hash: id }),
      ),
    );
    // Whoever sees a revision sees all lower ones: the tenants made so far have the revisions 2, 3, 4, ... without a gap.
    const seen: number[][] = [];
    await until(async () => {
      const found = await harness.db.collection('settings_tenants').find().sort({ revision: 1 }).toArray();
      seen.push(found.map((document) => Number(document['revision'])));
      return found.length === ids.length;
    });
    await Promise.all(creating);
    for (const revisions of seen) expect(revisions).toEqual(revisions.map((_, i) => 2 + i));
    await harness.close();
  });
});

describe('MongoDB: the queries of the settings store', () => {
  it('are all served by an index, in its order: none reads a collection through', async () => {
    const harness = await makeHarness();
    const commands: Document[] = [];
    const record = ({ command }: { command: Document }) => {
      if (command['$db'] === harness.db.databaseName) commands.push(command);
    };
    client.on('commandStarted', record);
    await useAll(harness.store);
    client.off('commandStarted', record);
    const explained = commands.map(explainable).filter((command) => command !== null);
    const plans: [string, string[]][] = [];
    for (const command of explained) {
      const answer = await harness.db.command({ explain: command, verbosity: 'queryPlanner' });
      plans.push([JSON.stringify(command), stagesOf(answer)]);
    }
    expect(new Set(explained.map((command) => Object.keys(command)[0]))).toEqual(
      new Set(['find', 'update', 'delete', 'findAndModify']),
    );
    for (const [command, stages] of plans) {
      expect([command, stages]).toEqual([
        command,
        expect.arrayContaining([expect.stringMatching(/^(IXSCAN|IDHACK)$/)]),
      ]);
      expect([command, stages]).not.toEqual([
        command,
        expect.arrayContaining([expect.stringMatching(/^(COLLSCAN|SORT)$/)]),
      ]);
    }
    await harness.close();
  });
});

/** Every call of the port. */
async function useAll(store: SettingsStore): Promise<void> {
  const tenantId = 'tnt_a' as TenantId;
  await store.createTenant(storedTenant(), storedKey());
  await store.tenantBySubject('auth|a');
  await store.tenantIdByKeyHash('hash-1');
  await store.settings(tenantId);
  await store.replaceKey(storedKey({ hash: 'hash-2' }), 5, 5);
  await store.createNamedKey(storedNamedKey(), 50);
  await store.noteKeyUses([{ tenantId, id: storedNamedKey().id, at: 5 }]);
  await store.deleteNamedKey(tenantId, storedNamedKey().id);
  await store.replaceSealed(tenantId, new Map([['sealed-whsec', 'sealed-anew']]));
  await store.saveProvider(storedProvider());
  await store.deleteProvider(tenantId, 'EMAIL', 'primary');
  await store.createTemplate(storedTemplate(), 1000);
  await store.templates(tenantId);
  await store.template(tenantId, 'tpl_1' as TemplateId);
  await store.templateByName(tenantId, 'welcome');
  await store.updateTemplate(storedTemplate({ version: 2 }));
  await store.deleteTemplate(tenantId, 'tpl_1' as TemplateId);
  await store.changesSince(0);
  await store.changesSince(1);
  await store.keepMark('log', 'one');
  await store.mark('log');
  await store.replaceMark('log', 'another');
}

/** The part of a command that decides on its plan; null for one that looks for nothing. */
function explainable(command: Document): Document | null {
  const { find, update, findAndModify } = command;
  if (find !== undefined) {
    const { filter, sort, limit, projection } = command;
    return { find, filter, ...(sort && { sort }), ...(limit && { limit }), ...(projection && { projection }) };
  }
  if (findAndModify !== undefined) return { findAndModify, query: command['query'], update };
  if (update !== undefined) return { update, updates: listOf(command['updates']) };
  if (command['delete'] !== undefined) return { delete: command['delete'], deletes: listOf(command['deletes']) };
  return null;
}

/** The driver sends some lists as a part of the message of their own. */
function listOf(sent: Document[] | { readonly documents: Document[] }): Document[] {
  return Array.isArray(sent) ? sent : sent.documents;
}

/** The stages of every winning plan in it. */
function stagesOf(answer: unknown): string[] {
  if (typeof answer !== 'object' || answer === null) return [];
  const of = (key: string, value: unknown): string[] => {
    if (key === 'rejectedPlans') return [];
    return key === 'stage' ? [String(value)] : stagesOf(value);
  };
  return Object.entries(answer).flatMap(([key, value]) => of(key, value));
}
