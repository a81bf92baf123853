// The rate limiter in Redis: the contract, limits over several connections, and what a take leaves and costs there.

import { randomUUID } from 'node:crypto';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';

import { connectRedis } from '../../../src/adapters/redis/connection.ts';
import { createRedisRateLimiter } from '../../../src/adapters/redis/rate-limiter.ts';
import type { RedisRateLimiter } from '../../../src/adapters/redis/rate-limiter.ts';
import { rateLimiterContract } from '../../contracts/rate-limiter.ts';
import { engines } from '../../support/engines.ts';
import { until } from '../../support/until.ts';
import { silentLogger } from './lines.ts';

async function open(keyPrefix: string): Promise<RedisRateLimiter> {
  const limiter = createRedisRateLimiter({ url: engines().redisUrl, keyPrefix, logger: silentLogger });
  await until(() => limiter.isUp(), { what: 'Redis' });
  return limiter;
}

const prefixes: string[] = [];
function newPrefix(): string {
  const prefix = `herald-test-${randomUUID()}:`;
  prefixes.push(prefix);
  return prefix;
}

let redis: Redis;
beforeAll(() => {
  redis = new Redis(engines().redisUrl);
});
afterAll(async () => {
  const keys = await Promise.all(prefixes.map((prefix) => redis.keys(`${prefix}*`)));
  if (keys.flat().length > 0) await redis.del(keys.flat());
  await redis.quit();
});

rateLimiterContract('Redis', () => open(newPrefix()));

describe('Redis: limits of several processes', () => {
  const minute = 60_000;
  let prefix: string;
  let limiters: readonly [RedisRateLimiter, RedisRateLimiter];
  beforeEach(async () => {
    prefix = newPrefix();
    limiters = [await open(prefix), await open(prefix)];
  });
  afterEach(() => Promise.all(limiters.map((limiter) => limiter.close())));

  it('are held together: of 1,000 takes at once over two connections exactly 100 are let through', async () => {
    const limit = { limit: 100, windowMs: minute };
    const takes = Array.from({ length: 1000 }, (_, i) => limiters[i % 2 === 0 ? 0 : 1].take('both', limit));
    const allowed = (await Promise.all(takes)).filter((decision) => decision.allowed);
    expect(allowed.map(({ remaining }) => remaining).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, i) => i),
    );
  });

  it('are held together with one counter a key: a limit that was lowered holds at once', async () => {
    for (let i = 0; i < 5; i++) await limiters[0].take('lowered', { limit: 10, windowMs: minute });
    const decision = await limiters[1].take('lowered', { limit: 4, windowMs: minute });
    expect(decision).toMatchObject({ allowed: false, remaining: 0 });
    expect(await limiters[0].take('lowered', { limit: 6, windowMs: minute })).toMatchObject({ allowed: true });
  });

  it('begin anew where a counter has no expiry, whoever made it', async () => {
    await redis.set(`${prefix}stuck`, 1_000_000);
    expect(await limiters[0].take('stuck', { limit: 2, windowMs: minute })).toMatchObject({
      allowed: true,
      remaining: 1,
    });
    expect(await redis.pttl(`${prefix}stuck`)).toBeGreaterThan(0);
  });

  it('may have windows shorter than a second, or that are no whole seconds', async () => {
    for (const windowMs of [250, 1500]) {
      const { resetMs } = await limiters[0].take(`window-${windowMs}`, { limit: 1, windowMs });
      expect(resetMs).toBeGreaterThan(windowMs - 200);
      expect(resetMs).toBeLessThanOrEqual(windowMs);
      expect(await redis.pttl(`${prefix}window-${windowMs}`)).toBeLessThanOrEqual(windowMs);
    }
  });

  it('go on when Redis has forgotten its scripts', async () => {
    const limit = { limit: 10, windowMs: minute };
    await limiters[0].take('scripts', limit);
    await limiters[0].take('scripts', limit);
    await redis.script('FLUSH');
    expect(await limiters[0].take('scripts', limit)).toMatchObject({ allowed: true, remaining: 7 });
  });

  it('leave no key without an expiry behind', async () => {
    const limits = [1, 5, 50].map((limit) => ({ limit, windowMs: minute }));
    await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        limiters[0].take(`key-${i % 7}`, limits[i % 3] ?? { limit: 1, windowMs: 1 }, 1 + (i % 3)),
      ),
    );
    const keys = await redis.keys(`${prefix}*`);
    // And what readiness took.
    expect(keys.filter((key) => key !== `${prefix}up`)).toHaveLength(7);
    for (const key of keys) expect(await redis.pttl(key)).toBeGreaterThan(0);
  });

  it('are asked for in one round trip, and a refused take writes nothing', async () => {
    const limit = { limit: 3, windowMs: minute };
    await limiters[0].take('trips', limit);
    const seen: { readonly name: string; readonly isInner: boolean }[] = [];
    const monitor = await redis.monitor();
    monitor.on('monitor', (_: string, [name = '', ...args]: string[], source: string) => {
      if (args.some((arg) => arg.startsWith(`${prefix}trips`))) seen.push({ name, isInner: source === 'lua' });
    });
    for (let i = 0; i < 5; i++) await limiters[0].take('trips', limit);
    await until(() => seen.filter(({ isInner }) => !isInner).length >= 5, { what: 'the takes in the monitor' });
    monitor.disconnect();
    expect(seen.filter(({ isInner }) => !isInner).map(({ name }) => name)).toEqual(Array(5).fill('evalsha'));
    expect(seen.filter(({ name }) => name === 'incrby')).toHaveLength(2);
    expect(new Set(seen.map(({ name }) => name))).toEqual(new Set(['evalsha', 'get', 'pttl', 'incrby']));
  });
});

describe('Redis: what is asked in one turn of the event loop', () => {
  it('leaves in one write, and what is asked later in another one, also where the connection was dropped between', async () => {
    const connection = connectRedis(engines().redisUrl);
    const { client } = connection;
    try {
      for (let nth = 1; nth <= 2; nth++) {
        await until(async () => (await client.ping().catch(() => null)) === 'PONG', { what: 'Redis' });
        const writes = countWrites(client.stream);
        const ask = () => {
          connection.gather();
          return client.ping();
        };
        expect(await Promise.all(Array.from({ length: 50 }, ask))).toEqual(Array.from({ length: 50 }, () => 'PONG'));
        expect(writes()).toBe(1);
        expect(await Promise.all([ask(), ask()])).toEqual(['PONG', 'PONG']);
        expect(writes()).toBe(2);
        connection.gather();
        connection.drop();
        await until(() => client.status !== 'ready', { what: 'the drop' });
      }
    } finally {
      await connection.close();
    }
  });
});

/** Of a socket, to the system. */
function countWrites(stream: Redis['stream']): () => number {
  let writes = 0;
  for (const name of ['_write', '_writev'] as const) {
    const write = stream[name] as ((...args: unknown[]) => void) | undefined;
    Object.assign(stream, {
      [name](...args: unknown[]) {
        writes++;
        return write?.apply(stream, args);
      },
    });
  }
  return () => writes;
}
