// Transactions whose end their owner doesn't learn: whatever was lost on the way, what the caller repeats is applied once.

import { randomBytes } from 'node:crypto';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { MongoConnection } from '../../../src/adapters/mongodb/connection.ts';
import { connectMongo } from '../../../src/adapters/mongodb/connection.ts';
import { openMongoReadModelStore } from '../../../src/adapters/mongodb/read-models/store.ts';
import { createClock } from '../../../src/adapters/node/clock.ts';
import { StaleOwnerError } from '../../../src/ports/event-log.ts';
import type { Ownership, ReadModelStore, Write } from '../../../src/ports/read-model-store.ts';
import { letters } from '../../contracts/read-model-store.ts';
import { engines } from '../../support/engines.ts';
import { until } from '../../support/until.ts';
import { silentLogger as logger } from '../sqlite/silent-logger.ts';
import type { CuttingProxy } from './cutting-proxy.ts';
import { startCuttingProxy } from './cutting-proxy.ts';

/** What a transaction leaves locked is so for 60 s; that the machine is busy isn't meant. */
const atOnceMs = 10_000;
const clock = createClock();
let proxy: CuttingProxy;
/** The owner is connected by the proxy, the other process directly. */
let connections: { readonly owner: MongoConnection; readonly other: MongoConnection };
let store: ReadModelStore;
let other: ReadModelStore;
let owner: Ownership;

beforeEach(async () => {
  const direct = new URL(engines().mongoUrl);
  direct.pathname = `/herald_lost_${randomBytes(6).toString('hex')}`;
  proxy = await startCuttingProxy(direct.href);
  const connect = (url: string) => connectMongo({ url, logger });
  connections = { owner: await connect(proxy.url), other: await connect(direct.href) };
  store = openMongoReadModelStore({ connection: connections.owner, logger, clock });
  other = openMongoReadModelStore({ connection: connections.other, logger, clock });
  await store.prepare(letters);
  owner = await store.own('letters', 0, { generation: 1 });
});
afterEach(async () => {
  await connections.other.db.dropDatabase();
  await store.close();
  await other.close();
  await connections.owner.close();
  await connections.other.close();
  await proxy.close();
});

const letter = (id: string): Write => ({
  collection: 'letters',
  id,
  document: { tenant: 'a', at: 1, status: 'new', tag: null, text: id },
  isNew: true,
});
/** The batch that moves the position to this offset. */
const fold = (at: Ownership, offset: number) =>
  store.transact(at, new Map([['work', offset]]), [letter(`${offset}`), letter(`${offset}b`)]);

/** As a projector repeats it: until it works or the number is lost. */
async function foldUntilDone(at: Ownership, offset: number): Promise<{ owner: Ownership; failures: unknown[] }> {
  const failures: unknown[] = [];
  return until(
    async () => {
      try {
        return { owner: await fold(at, offset), failures };
      } catch (error) {
        if (error instanceof StaleOwnerError) throw error;
        failures.push(error);
        return null;
      }
    },
    { timeoutMs: 20_000, everyMs: 50, what: 'the batch to be written' },
  );
}

/** Applied once, and the next one can follow. */
async function expectOnce(next: Ownership): Promise<void> {
  expect(await appliedTransactions()).toBe(1);
  expect([...(await other.get('letters', ['1', '1b'])).keys()].sort()).toEqual(['1', '1b']);
  expect(await other.positions('letters', 0)).toEqual(new Map([['work', 1]]));
  const last = await fold(next, 2);
  expect(last.offsets).toEqual(new Map([['work', 2]]));
  await expect(fold(next, 2)).rejects.toThrow(StaleOwnerError);
  expect(await appliedTransactions()).toBe(2);
}

/** The position counts them. */
async function appliedTransactions(): Promise<unknown> {
  const positions = connections.other.db.collection('read_model_positions');
  return (await positions.findOne({ partition: 0 }))?.['sequence'];
}

describe('MongoDB: a transaction', () => {
  it.each(['request', 'answer'] as const)('whose commit lost its %s once is none the worse for it', async (part) => {
    proxy.lose('commitTransaction', part, 1);
    const next = await fold(owner, 1);
    expect(proxy.lost()).toBe(1);
    await expectOnce(next);
  });

  it('whose commit was applied and answered to nobody resolves', async () => {
    proxy.lose('commitTransaction', 'answer', 2);
    const next = await fold(owner, 1);
    expect(proxy.lost()).toBe(2);
    await expectOnce(next);
  });

  it('whose commit never arrived rejects, leaves no lock behind and can be repeated', async () => {
    proxy.lose('commitTransaction', 'request', 2);
    await expect(fold(owner, 1)).rejects.not.toThrow(StaleOwnerError);
    expect(proxy.lost()).toBe(2);
    expect(await appliedTransactions()).toBe(0);
    const begun = performance.now();
    const next = await fold(owner, 1);
    expect(performance.now() - begun).toBeLessThan(atOnceMs);
    await expectOnce(next);
  });

  it.each(['request', 'answer'] as const)('whose first statement lost its %s can be repeated at once', async (part) => {
    proxy.lose('startTransaction', part, 1);
    await expect(fold(owner, 1)).rejects.not.toThrow(StaleOwnerError);
    expect(proxy.lost()).toBe(1);
    const begun = performance.now();
    const next = await fold(owner, 1);
    expect(performance.now() - begun).toBeLessThan(atOnceMs);
    await expectOnce(next);
  });

  it.each(['request', 'answer'] as const)(
    'whose commit lost its %s before the server was away for 5 s is applied once by its repetition',
    async (part) => {
      const cut = proxy.loseAndCut('commitTransaction', part);
      const folding = foldUntilDone(owner, 1);
      await cut;
      const cutAt = performance.now();
      await until(() => performance.now() - cutAt > 5000, { what: '5 s to pass' });
      proxy.mend();
      const { owner: next, failures } = await folding;
      expect(failures.length).toBeGreaterThan(0);
      await expectOnce(next);
    },
    30_000,
  );

  it('whose end is unknown is followed by nothing but itself', async () => {
    const cut = proxy.loseAndCut('commitTransaction', 'answer');
    const folding = fold(owner, 1);
    await cut;
    await expect(folding).rejects.not.toThrow(StaleOwnerError);
    proxy.mend();
    await expect(fold(owner, 7)).rejects.toThrow(StaleOwnerError);
    await expectOnce((await foldUntilDone(owner, 1)).owner);
  }, 30_000);
});

describe('MongoDB: a take-over that arrives late', () => {
  it('leaves the number to its newer owner, who folds on', async () => {
    const held = proxy.hold('findAndModify');
    const late = store.own('letters', 0, { generation: 1 });
    const refused = expect(late).rejects.toMatchObject({ name: 'NewerOwnerError', generation: 2 });
    const release = await held;
    const taken = await other.own('letters', 0, { generation: 2 });
    const next = await other.transact(taken, new Map([['work', 1]]), [letter('1')]);
    release();
    await refused;
    await other.transact(next, new Map([['work', 2]]), [letter('2')]);
    expect(await other.positions('letters', 0)).toEqual(new Map([['work', 2]]));
  });

  it('is refused by another process and after a restart as well: the position keeps the generation', async () => {
    await store.own('letters', 0, { generation: 3 });
    const refused = { name: 'NewerOwnerError', generation: 3 };
    await expect(other.own('letters', 0, { generation: 2 })).rejects.toMatchObject(refused);
    const restarted = openMongoReadModelStore({ connection: connections.other, logger, clock });
    await expect(restarted.own('letters', 0, { generation: 2 })).rejects.toMatchObject(refused);
    await restarted.close();
    await other.own('letters', 0, { generation: 1, after: 3 });
    await expect(store.own('letters', 0, { generation: 0, after: 3 })).rejects.toMatchObject({ generation: 1 });
  });

  it('owns a number whose position is of a version before there were generations', async () => {
    const positions = connections.other.db.collection('read_model_positions');
    await positions.updateOne({ partition: 0 }, { $unset: { generation: '' } });
    const taken = await other.own('letters', 0, { generation: 1 });
    await other.transact(taken, new Map([['work', 1]]), [letter('1')]);
    await expect(store.own('letters', 0, { generation: 0 })).rejects.toMatchObject({ generation: 1 });
  });
});

describe('MongoDB: a number taken over', () => {
  it('while its owner commits is given at once, and the owner refused', async () => {
    const held = proxy.hold('commitTransaction');
    const late = fold(owner, 1);
    const refused = expect(late).rejects.toThrow(StaleOwnerError);
    const release = await held;
    const begun = performance.now();
    const taken = await other.own('letters', 0, { generation: 1 });
    expect(performance.now() - begun).toBeLessThan(atOnceMs);
    expect(taken.offsets.size).toBe(0);
    await other.transact(taken, new Map([['work', 5]]), [letter('5')]);
    release();
    await refused;
    expect([...(await other.get('letters', ['1', '1b', '5'])).keys()]).toEqual(['5']);
    await expect(fold(owner, 1)).rejects.toThrow(StaleOwnerError);
  });

  it('from an owner that stood still for 4 s, in the middle of its work, refuses whatever it does then', async () => {
    let offset = 0;
    let at = owner;
    const working = (async () => {
      for (;;) ({ owner: at } = await foldUntilDone(at, ++offset));
    })();
    const refused = expect(working).rejects.toThrow(StaleOwnerError);
    await until(() => offset > 10);
    proxy.freeze();
    const frozenAt = performance.now();
    const taken = await other.own('letters', 0, { generation: 1 });
    const from = taken.offsets.get('work') ?? 0;
    expect(from).toBeGreaterThanOrEqual(offset - 1);
    await other.transact(taken, new Map([['work', 1000]]), []);
    await until(() => performance.now() - frozenAt > 4000, { what: '4 s to pass' });
    proxy.mend();
    await refused;
    expect(await other.positions('letters', 0)).toEqual(new Map([['work', 1000]]));
    expect((await other.get('letters', [`${from}`, `${from + 1}`])).size).toBe(1);
  }, 30_000);
});
