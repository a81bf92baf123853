// Accepting under a key, by two processes over whatever store of keys: 200 at once are one notification, again after the store was away, and another one after 24 h.

import { createHash } from 'node:crypto';

import { expect, it } from '@jest/globals';

import type { NotificationInput, Prepared } from '../../src/commands/accept-notification.ts';
import type { AcceptOnceDependencies } from '../../src/commands/accept-once.ts';
import { acceptOnce } from '../../src/commands/accept-once.ts';
import { keyLifetimeMs } from '../../src/domain/idempotency.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import type { IdempotencyStore } from '../../src/ports/idempotency-store.ts';
import type { IdempotencyStoreHarness } from './idempotency-store.ts';

/** Of today: a store may remove by its own clock what has ended long ago. */
const start = Math.floor(Date.now() / 3_600_000) * 3_600_000;
const position = { topic: 'notifications.in-app.default', partition: 3, offset: 7 } as const;
const input: NotificationInput = {
  tenantId: 'tnt_a' as TenantId,
  channel: 'IN_APP',
  recipient: 'ada',
  priority: 'DEFAULT',
  template: null,
  subject: null,
  body: 'hi',
  data: null,
  dataText: '{}',
  metadata: {},
  strict: null,
  sendAt: null,
  expiry: null,
  replyTo: null,
  cc: [],
  bcc: [],
  transactional: false,
  resendOf: null,
  trace: noTrace,
};

export function acceptingOnceContract(name: string, open: () => Promise<IdempotencyStoreHarness>): void {
  it(`${name}: 200 of two processes at once are one notification, after the store was away too, and a new one after 24 h`, async () => {
    const { store, other, close } = await open();
    const world = createWorld([store, other]);
    const first = await world.ask('key');
    expect(first).toEqual({ ids: 1, replayed: 199, refused: 0 });
    world.isAway = true;
    expect(await world.ask('key')).toEqual({ ids: 0, replayed: 0, refused: 200 });
    expect(await world.ask('meanwhile')).toEqual({ ids: 0, replayed: 0, refused: 200 });
    world.isAway = false;
    expect(await world.ask('key')).toEqual({ ids: 1, replayed: 200, refused: 0 });
    expect(await world.ask('meanwhile')).toEqual({ ids: 1, replayed: 199, refused: 0 });
    world.now = start + keyLifetimeMs - 1;
    expect(await world.ask('key')).toEqual({ ids: 1, replayed: 200, refused: 0 });
    expect(world.appended).toHaveLength(2);
    world.now = start + keyLifetimeMs;
    expect(await world.ask('key')).toEqual({ ids: 1, replayed: 199, refused: 0 });
    expect(new Set(world.appended).size).toBe(3);
    await close();
  }, 60_000);
}

/** Processes that have nothing in common but their stores' data and the log. */
function createWorld(stores: readonly IdempotencyStore[]) {
  const world = { now: start, isAway: false, appended: [] as NotificationId[], ask };
  const accepting = stores.map((keys) => acceptOnce(dependencies(whileThere(keys))));
  return world;

  function dependencies(keys: IdempotencyStore): AcceptOnceDependencies {
    return {
      keys,
      prepare: async (given) => ({ input: given }) as Prepared,
      async append(_, { notificationId }) {
        world.appended.push(notificationId);
        return { kind: 'durable', position };
      },
      // The store has lost nothing here: nobody is to be saved by the records.
      records: { find: async () => null, findSurely: async () => null },
      digest: (text) => createHash('sha256').update(text).digest(),
      limiter: { take: async () => ({ allowed: true, remaining: 1, resetMs: 1 }) },
      keyLimit: { limit: 1000, windowMs: keyLifetimeMs },
      clock: {
        now: () => world.now,
        // However slow the machine is, nobody waits too long.
        monotonic: () => 0,
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      } as AcceptOnceDependencies['clock'],
      logger: { warn: () => undefined },
    };
  }

  function whileThere(keys: IdempotencyStore): IdempotencyStore {
    const checked = Object.entries(keys).map(([name, call]: [string, (...args: never[]) => unknown]) => [
      name,
      async (...args: never[]) => {
        if (world.isAway) throw new Error('the store is away');
        return call(...args);
      },
    ]);
    return Object.fromEntries(checked) as IdempotencyStore;
  }

  async function ask(key: string): Promise<{ ids: number; replayed: number; refused: number }> {
    const settled = await Promise.allSettled(
      Array.from({ length: 200 }, async (_, i) => accepting[i % accepting.length]?.({ input, key, batchId: null })),
    );
    const accepted = settled.flatMap((one) =>
      one.status === 'fulfilled' && one.value !== undefined ? [one.value] : [],
    );
    return {
      ids: new Set(accepted.map(({ notificationId }) => notificationId)).size,
      replayed: accepted.filter(({ isReplayed }) => isReplayed).length,
      refused: settled.length - accepted.length,
    };
  }
}
