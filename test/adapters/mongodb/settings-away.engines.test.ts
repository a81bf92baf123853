// MongoDB away under the settings store: calls reject within seconds, and work again by themselves.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { MongoConnection } from '../../../src/adapters/mongodb/connection.ts';
import { connectMongo } from '../../../src/adapters/mongodb/connection.ts';
import { openMongoSettingsStore } from '../../../src/adapters/mongodb/settings/store.ts';
import { createClock } from '../../../src/adapters/node/clock.ts';
import type { TenantId } from '../../../src/domain/ids.ts';
import type { SettingsStore } from '../../../src/ports/settings-store.ts';
import { storedKey, storedProvider, storedTenant } from '../../contracts/settings-store.ts';
import type { OwnEngine } from '../../support/engine-control.ts';
import { startOwnMongo } from '../../support/engine-control.ts';
import { until } from '../../support/until.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const tenantId = 'tnt_a' as TenantId;

describe('MongoDB away: a settings store', () => {
  let server: OwnEngine;
  let connection: MongoConnection;
  let store: SettingsStore;
  beforeAll(async () => {
    server = await startOwnMongo();
    connection = await connectMongo({ url: server.address, logger });
    store = await openMongoSettingsStore({ connection, logger, clock: createClock() });
    await store.createTenant(storedTenant(), storedKey());
  }, 60_000);
  afterAll(async () => {
    await connection.close();
    await server.stop();
  });

  /** Each call's ms until it rejected; fails when one resolves. */
  async function refusals(): Promise<number[]> {
    const begun = performance.now();
    const calls: (() => Promise<unknown>)[] = [
      () => store.settings(tenantId),
      () => store.changesSince(1),
      ...Array.from({ length: 5 }, () => () => store.saveProvider(storedProvider({ updatedAt: 666 }))),
    ];
    return Promise.all(
      calls.map(async (call) => {
        await expect(call()).rejects.toThrow();
        return performance.now() - begun;
      }),
    );
  }

  const worksAgain = () =>
    until(
      async () => {
        if (!(await store.ready())) return false;
        await store.saveProvider(storedProvider({ updatedAt: 777 }));
        return (await store.settings(tenantId))?.providers[0]?.updatedAt === 777;
      },
      { what: 'the store to work again', timeoutMs: 20_000 },
    );

  it('killed: rejects within seconds, keeps what was written, works again', async () => {
    const { revision } = await store.changesSince(0);
    await store.saveProvider(storedProvider({ updatedAt: 5 }));
    await server.kill();
    expect(Math.max(...(await refusals()))).toBeLessThan(10_000);
    expect(await store.ready()).toBe(false);
    await server.start();
    await until(() => store.ready(), { timeoutMs: 20_000 });
    expect((await store.settings(tenantId))?.providers[0]?.updatedAt).toBe(5);
    expect((await store.changesSince(revision)).tenantIds).toEqual([tenantId]);
    await worksAgain();
  }, 60_000);

  it('hanging: rejects within seconds, works again', async () => {
    await server.pause();
    try {
      expect(Math.max(...(await refusals()))).toBeLessThan(10_000);
    } finally {
      await server.resume();
    }
    await worksAgain();
  }, 60_000);
});
