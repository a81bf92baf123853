// Redis away: nothing is refused for it, nobody waits for it, and it is used again by itself.

import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';

import { createRedisRateLimiter } from '../../../src/adapters/redis/rate-limiter.ts';
import type { RedisRateLimiter } from '../../../src/adapters/redis/rate-limiter.ts';
import type { Metrics } from '../../../src/ports/metrics.ts';
import type { OwnEngine } from '../../support/engine-control.ts';
import { startOwnRedis } from '../../support/engine-control.ts';
import { until } from '../../support/until.ts';
import { recordTo } from './lines.ts';
import type { Line } from './lines.ts';

/** The limiter waits for Redis for a tenth of it; the rest is for a machine that is busy. Who waited for Redis itself would wait until it is back. */
const atOnceMs = 1_000;
const limit = { limit: 100, windowMs: 60_000 };
const noMetrics: Metrics = { increment() {}, observe() {}, gauge() {}, gauges() {} };
const takes = (limiter: RedisRateLimiter, count: number, key: string) =>
  Promise.all(Array.from({ length: count }, () => limiter.take(key, limit)));
const allowedOf = async (limiter: RedisRateLimiter, count: number, key: string) =>
  (await takes(limiter, count, key)).filter(({ allowed }) => allowed).length;

async function msOf(work: Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work;
  return performance.now() - begun;
}

describe('Redis away', () => {
  let server: OwnEngine;
  let limiter: RedisRateLimiter;
  let lines: Line[];
  let gauge: () => number;
  const open = (url = server.address) => {
    const metrics = { ...noMetrics, gauge: (_: string, read: () => number) => void (gauge = read) };
    return createRedisRateLimiter({ url, keyPrefix: 'herald-test:', logger: recordTo(lines), metrics });
  };
  const isUp = () => limiter.isUp();
  const said = () => lines.map(({ level, message }) => `${level}: ${message}`);
  const away = 'warn: Redis is away: each process holds limits by itself';
  const back = 'info: Redis is back: limits hold over all processes again';

  beforeAll(async () => {
    server = await startOwnRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    lines = [];
    limiter = open();
    await until(isUp, { what: 'Redis' });
  });
  afterEach(() => limiter.close());

  it('killed: the process holds the limit by itself at once, and together with all again when it is back', async () => {
    expect(await allowedOf(limiter, 40, 'killed')).toBe(40);
    await server.kill();
    expect(await msOf(limiter.take('killed-first', limit))).toBeLessThan(atOnceMs);
    expect(await limiter.isUp()).toBe(false);
    expect(await msOf(takes(limiter, 100, 'killed-later'))).toBeLessThan(atOnceMs);
    expect(await allowedOf(limiter, 1000, 'killed-many')).toBe(100);
    await server.start();
    await until(isUp, { what: 'Redis to be used again' });
    const other = open();
    await until(() => other.isUp());
    const shared = await Promise.all([allowedOf(limiter, 200, 'again'), allowedOf(other, 200, 'again')]);
    expect(shared[0] + shared[1]).toBe(100);
    await other.close();
    expect(said()).toEqual([away, back]);
  });

  it('lost with all it counted and back within a window: two processes let through twice the limit in all, no more', async () => {
    const other = open();
    await until(() => other.isUp());
    const both = async () => {
      const [one, two] = await Promise.all([allowedOf(limiter, 300, 'lost'), allowedOf(other, 300, 'lost')]);
      return one + two;
    };
    expect(await both()).toBe(100);
    await server.kill();
    const away = await both();
    expect(away).toBeLessThanOrEqual(100);
    await server.start();
    await until(async () => (await isUp()) && (await other.isUp()), { what: 'Redis to be used again' });
    expect(100 + away + (await both())).toBe(200);
    await other.close();
  });

  it('hanging with its connection open: the first waits 100 ms, later ones not at all', async () => {
    await server.pause();
    try {
      expect(await msOf(takes(limiter, 50, 'hanging'))).toBeLessThan(atOnceMs);
      expect(await msOf(takes(limiter, 50, 'hanging-later'))).toBeLessThan(50);
      expect(await allowedOf(limiter, 1000, 'hanging-many')).toBe(100);
      // Through more than one reconnection, each of which hangs as well.
      const waits: number[] = [];
      const begun = performance.now();
      await until(async () => {
        waits.push(await msOf(limiter.take('hanging-long', limit)));
        return performance.now() - begun > 3000;
      });
      expect(Math.max(...waits)).toBeLessThan(atOnceMs);
      expect(await limiter.isUp()).toBe(false);
    } finally {
      await server.resume();
    }
    await until(isUp, { what: 'Redis to be used again' });
    expect(await limiter.take('after', limit)).toMatchObject({ allowed: true, remaining: 99 });
    expect(said()).toEqual([away, back]);
  });

  it('unnoticed as nobody takes: readiness asks it and says so', async () => {
    await server.pause();
    try {
      expect(await msOf(until(async () => !(await limiter.isUp())))).toBeLessThan(atOnceMs);
    } finally {
      await server.resume();
    }
    await until(isUp, { what: 'Redis to be used again' });
  });

  it('refusing to write: the process holds the limit by itself, asking again after a second', async () => {
    const admin = new Redis(server.address);
    await admin.config('SET', 'maxmemory', '1');
    expect(await allowedOf(limiter, 300, 'full')).toBe(100);
    expect(await limiter.isUp()).toBe(false);
    await admin.config('SET', 'maxmemory', '0');
    await until(isUp, { what: 'Redis to be used again' });
    expect(await limiter.take('full', limit)).toMatchObject({ allowed: false, remaining: 0 });
    expect(await limiter.take('not-full', limit)).toMatchObject({ allowed: true, remaining: 99 });
    expect(said()).toEqual([away, back]);
    await admin.quit();
  });

  it.each([
    ['out of memory', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
    ['a replica after a fail-over', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
  ] as const)(
    'answering whoever reads and refusing to write, %s: away, said once, until it has written',
    async (why, [begin, ...beginWith], [end, ...endWith]) => {
      const admin = new Redis(server.address);
      const refused = { limit: 1, windowMs: 600_000 };
      await limiter.take(`refused ${why}`, refused);
      await admin.call(begin, ...beginWith);
      try {
        await limiter.take('writes', limit);
        const health = new Set<boolean>();
        const metric = new Set<number>();
        const until3s = performance.now() + 3_000;
        while (performance.now() < until3s) {
          metric.add(gauge());
          health.add(await isUp());
          await limiter.take(`writes-${performance.now()}`, limit);
          // What is over the limit is answered without a write.
          expect(await limiter.take(`refused ${why}`, refused)).toMatchObject({ allowed: false });
          await sleep(20);
        }
        expect([[...health], [...metric], said()]).toEqual([[false], [0], [away]]);
      } finally {
        await admin.call(end, ...endWith);
      }
      await until(isUp, { what: 'Redis to be used again' });
      expect([gauge(), said()]).toEqual([1, [away, back]]);
      await admin.quit();
    },
  );

  it('from the start: takes are answered, and it is used once it is there', async () => {
    await server.kill();
    const late = open();
    expect(await allowedOf(late, 300, 'early')).toBe(100);
    await server.start();
    await until(() => late.isUp(), { what: 'Redis to be used' });
    expect(await late.take('early', limit)).toMatchObject({ allowed: false, remaining: 0 });
    expect(await late.take('later', limit)).toMatchObject({ allowed: true, remaining: 99 });
    await late.close();
    await until(isUp);
  });

  it('with a password that is wrong: said once, without the password', async () => {
    const admin = new Redis(server.address);
    await admin.config('SET', 'requirepass', 'right-password');
    const locked = open(server.address.replace('redis://', 'redis://:wrong-password@'));
    await until(() => lines.length > 0);
    expect(await allowedOf(locked, 300, 'locked')).toBe(100);
    expect(await locked.isUp()).toBe(false);
    await locked.close();
    await admin.config('SET', 'requirepass', '');
    await admin.quit();
    expect(said()).toEqual([away]);
    expect(JSON.stringify(lines)).not.toContain('password@');
    expect(JSON.stringify(lines)).not.toContain('wrong-password');
  });

  it('busy elsewhere: a process whose event loop stood still for half a second still gets its answers from Redis', async () => {
    const taken = takes(limiter, 20, 'stalled');
    const begun = performance.now();
    while (performance.now() - begun < 500);
    await taken;
    expect(said()).toEqual([]);
    expect(await limiter.take('stalled', limit)).toMatchObject({ remaining: 79 });
  });

  it('or hanging when it is closed: closing does not wait', async () => {
    const closing = open();
    await until(() => closing.isUp());
    await server.pause();
    try {
      const pending = closing.take('closing', limit);
      expect(await msOf(closing.close())).toBeLessThan(atOnceMs);
      expect(await pending).toMatchObject({ allowed: true });
      expect(await closing.take('closed', limit)).toMatchObject({ allowed: true });
    } finally {
      await server.resume();
    }
    await until(isUp);
  });
});
