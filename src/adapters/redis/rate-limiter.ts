// Limits of all processes together: exact fixed windows in Redis, one round trip a take; while Redis is away each
// process has its own.
//
//   take ──> connection ready? ──yes──> Redis ──let through──> own windows ──> decision
//                 │ no                    │ fails, or no answer in 100 ms: the connection is dropped
//                 └───> own windows <─────┘
//
// What this process lets through it counts in windows of its own as well, which end with those of Redis. So when Redis
// is lost and comes back empty within a window, a process still lets no more than the limit through in it.
//
// Nobody waits for a Redis that is known to be away: the connection comes back by itself, and counts as back only once
// Redis has answered on it.

import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';

import { createFixedWindows } from '../../domain/fixed-windows.ts';
import type { WindowDecision } from '../../domain/fixed-windows.ts';
import type { RateLimit } from '../../domain/tenant.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { RateLimitDecision, RateLimiter } from '../../ports/rate-limiter.ts';
import { connectRedis } from './connection.ts';
import { createSupervision } from './supervision.ts';
import { takeScript, windowsKept } from './take-script.ts';

export interface RedisRateLimiterOptions {
  /** `redis://` or `rediss://`, with user and password if need be; neither is ever logged. */
  readonly url: string;
  /** Before every key. */
  readonly keyPrefix: string;
  readonly logger: Logger;
  readonly metrics?: Metrics;
}

export interface RedisRateLimiter extends RateLimiter {
  /** Whether limits are held over processes now: Redis is asked to take and write it. Answers within 125 ms, never rejects. */
  isUp(): Promise<boolean>;
}

interface Take {
  readonly kind: keyof typeof windowsKept;
  readonly key: string;
  readonly limit: RateLimit;
  readonly cost: number;
  /** By the process's own windows. */
  readonly count: (now: number, endsAt?: number) => WindowDecision;
}

/** Limits and windows in use: the service's own, tenants' own and providers' rates. Some 300 bytes each, stateless. */
const limitersMax = 1000;

/** What `isUp` takes: a Redis that answers and can't be written, or where the script may not be run, holds no limits. More than all processes ask in a second. */
const probe: Pick<Take, 'key' | 'limit'> = { key: 'up', limit: { limit: 1_000_000, windowMs: 1000 } };

/** Connects in the background: it is for the caller to ask `isUp`, or not to care. */
export function createRedisRateLimiter({ url, keyPrefix, logger, metrics }: RedisRateLimiterOptions): RedisRateLimiter {
  const connection = connectRedis(url);
  const supervision = createSupervision({ connection, logger });
  const own = createFixedWindows();
  const limiters = new Map<string, RateLimiterRedis>();
  metrics?.gauge('herald_redis_up', () => (supervision.isUp() ? 1 : 0));

  function limiterFor({ limit, windowMs }: RateLimit): RateLimiterRedis {
    const name = `${limit}/${windowMs}`;
    const known = limiters.get(name);
    if (known !== undefined) return known;
    const limiter = new RateLimiterRedis({
      storeClient: connection.client,
      points: limit,
      duration: windowMs / 1000,
      keyPrefix: '',
      customIncrTtlLuaScript: takeScript,
    });
    const [oldest] = limiters.keys();
    if (limiters.size >= limitersMax && oldest !== undefined) limiters.delete(oldest);
    limiters.set(name, limiter);
    return limiter;
  }

  /** What is refused isn't written. */
  function consumed({ kind, key, limit, cost }: Omit<Take, 'count'>): Promise<RateLimiterRes> {
    const answer = consume(limiterFor(limit), `${keyPrefix}${key}`, cost, windowsKept[kind]);
    return supervision.watch(answer, ({ consumedPoints }) => consumedPoints <= limit.limit);
  }

  async function askRedis(take: Take): Promise<RateLimitDecision> {
    const { limit, cost, count } = take;
    const askedAt = performance.now();
    connection.gather();
    const answer = await consumed(take);
    const allowed = answer.consumedPoints <= limit.limit;
    const resetMs = Math.max(answer.msBeforeNext, 0);
    if (allowed) {
      // From when it was asked: never after the window of Redis.
      const counted = count(performance.now(), askedAt + resetMs);
      if (!counted.allowed) return counted;
    }
    const spent = allowed ? answer.consumedPoints : answer.consumedPoints - cost;
    return { allowed, remaining: Math.max(limit.limit - spent, 0), resetMs };
  }

  async function decide(take: Take): Promise<RateLimitDecision> {
    if (!supervision.mayAsk()) return take.count(performance.now());
    try {
      return await askRedis(take);
    } catch {
      // Its reason is the supervision's to tell.
      return take.count(performance.now());
    }
  }

  return {
    take(key, limit, cost = 1) {
      return decide({ kind: 'take', key, limit, cost, count: (...at) => own.take(key, limit, cost, ...at) });
    },
    pace(key, limit) {
      return decide({ kind: 'pace', key, limit, cost: 1, count: (...at) => own.pace(key, limit, ...at) });
    },
    async isUp() {
      if (!supervision.mayAsk()) return false;
      try {
        await consumed({ kind: 'take', cost: 1, ...probe });
        return true;
      } catch {
        return false;
      }
    },
    async close() {
      supervision.close();
      await connection.close();
    },
  };
}

/** What the library rejects with when a take is refused is an answer like any other. */
async function consume(limiter: RateLimiterRedis, key: string, cost: number, windows: number): Promise<RateLimiterRes> {
  try {
    // Of no seconds the library would take a way of its own, without our script: that has the exact window.
    return await limiter.consume(key, cost, { customDuration: windows });
  } catch (error) {
    if (error instanceof RateLimiterRes) return error;
    throw error;
  }
}
