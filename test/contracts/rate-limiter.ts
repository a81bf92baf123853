// What every rate limiter promises; each adapter runs this suite.

import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { RateLimiter } from '../../src/ports/rate-limiter.ts';
import { until } from '../support/until.ts';

const minute = 60_000;

export function rateLimiterContract(name: string, open: () => Promise<RateLimiter>): void {
  describe(`${name}: a rate limiter`, () => {
    let limiter: RateLimiter;
    beforeEach(async () => {
      limiter = await open();
    });
    afterEach(() => limiter.close());

    it('lets exactly the limit through, however parallel', async () => {
      const limit = { limit: 100, windowMs: minute };
      const taken = await Promise.all(Array.from({ length: 1000 }, () => limiter.take('parallel', limit)));
      expect(taken.filter(({ allowed }) => allowed)).toHaveLength(100);
      const remaining = taken.filter(({ allowed }) => allowed).map((decision) => decision.remaining);
      expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    });

    it('keeps keys apart', async () => {
      const limit = { limit: 1, windowMs: minute };
      expect((await limiter.take('one', limit)).allowed).toBe(true);
      expect((await limiter.take('one', limit)).allowed).toBe(false);
      expect((await limiter.take('two', limit)).allowed).toBe(true);
    });

    it('says what remains and when the window ends, also when it refuses', async () => {
      const limit = { limit: 2, windowMs: minute };
      const decisions = [];
      for (let i = 0; i < 4; i++) decisions.push(await limiter.take('told', limit));
      expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
        [true, 1],
        [true, 0],
        [false, 0],
        [false, 0],
      ]);
      for (const { resetMs } of decisions) {
        expect(resetMs).toBeGreaterThan(minute - 10_000);
        expect(resetMs).toBeLessThanOrEqual(minute);
      }
    });

    it('opens a new window when the old one has ended, whole, and refusals do not put that off', async () => {
      const limit = { limit: 2, windowMs: 1000 };
      const first = await limiter.take('window', limit);
      const begun = performance.now();
      await limiter.take('window', limit);
      const next = await until(async () => {
        const decision = await limiter.take('window', limit);
        return decision.allowed ? decision : null;
      });
      expect(first.remaining).toBe(1);
      expect(next.remaining).toBe(1);
      expect(performance.now() - begun).toBeGreaterThan(900);
      expect(performance.now() - begun).toBeLessThan(5000);
    });

    it('lets exactly the limit through in a window whose takes were refused up to the end of the last', async () => {
      const limit = { limit: 3, windowMs: 300 };
      for (let window = 0; window < 4; window++) {
        const first = await until(
          async () => {
            // Many at once: some are decided on either side of the end.
            const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.take('end', limit)));
            for (const { remaining } of decisions) expect(remaining).toBeLessThanOrEqual(limit.limit);
            return decisions.find(({ allowed }) => allowed);
          },
          { everyMs: 0 },
        );
        expect(first).toMatchObject({ allowed: true, remaining: 2 });
      }
    });

    it('takes a cost whole or not at all, and what is refused costs nothing', async () => {
      const limit = { limit: 10, windowMs: minute };
      expect(await limiter.take('cost', limit, 7)).toMatchObject({ allowed: true, remaining: 3 });
      expect(await limiter.take('cost', limit, 4)).toMatchObject({ allowed: false, remaining: 3 });
      expect(await limiter.take('cost', limit, 3)).toMatchObject({ allowed: true, remaining: 0 });
      expect(await limiter.take('whole', limit, 11)).toMatchObject({ allowed: false, remaining: 10 });
      expect(await limiter.take('whole', limit, 10)).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('paces exactly the limit, however parallel, and a first window begins with its first take', async () => {
      const limit = { limit: 10, windowMs: minute };
      expect(await limiter.pace('paced', limit)).toEqual({ allowed: true, remaining: 9, resetMs: minute });
      const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.pace('paced', limit)));
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(9);
      for (const { resetMs } of decisions) expect(resetMs).toBeLessThanOrEqual(minute);
    });

    it('paces by windows that follow one another without a gap: whoever comes late has what is left of his', async () => {
      const limit = { limit: 3, windowMs: 2000 };
      const lateMs = 300;
      // On a machine that stops for longer than a window there is none to follow: then once more.
      await until(
        async (): Promise<true | null> => {
          const from = performance.now();
          await limiter.pace(`late ${from}`, limit);
          await sleep(limit.windowMs + lateMs);
          const { allowed, remaining, resetMs } = await limiter.pace(`late ${from}`, limit);
          if (performance.now() - from >= 2 * limit.windowMs) return null;
          expect({ allowed, remaining }).toEqual({ allowed: true, remaining: limit.limit - 1 });
          expect(resetMs).toBeLessThanOrEqual(limit.windowMs - lateMs + 5);
          return true;
        },
        { timeoutMs: 60_000 },
      );
    }, 90_000);

    it('paces anew from the take on after a rest of a window and more', async () => {
      const limit = { limit: 3, windowMs: 100 };
      await limiter.pace('rested', limit);
      await sleep(3 * limit.windowMs);
      expect(await limiter.pace('rested', limit)).toEqual({ allowed: true, remaining: 2, resetMs: limit.windowMs });
    });

    it('takes and paces beside each other, whichever came last and with whichever limit', async () => {
      const limit = { limit: 2, windowMs: minute };
      await limiter.pace('paced', limit);
      await limiter.take('taken', limit);
      const next = await limiter.pace('paced', limit);
      expect(next).toMatchObject({ allowed: true, remaining: 0 });
      expect(next.resetMs).toBeLessThanOrEqual(minute);
      await limiter.pace('other', { limit: 3, windowMs: minute });
      expect(await limiter.take('taken', limit)).toMatchObject({ allowed: true, remaining: 0 });
      await limiter.take('another', { limit: 4, windowMs: minute });
      const refused = [await limiter.take('taken', limit), await limiter.pace('paced', limit)];
      for (const { allowed, resetMs } of refused) {
        expect(allowed).toBe(false);
        expect(resetMs).toBeLessThanOrEqual(minute);
      }
    });

    it('never lets more through than the limit when costs differ and come at once', async () => {
      const limit = { limit: 50, windowMs: minute };
      const costs = Array.from({ length: 200 }, (_, i) => 1 + (i % 7));
      const decisions = await Promise.all(costs.map((cost) => limiter.take('mixed', limit, cost)));
      const spent = costs.reduce((sum, cost, i) => sum + (decisions[i]?.allowed === true ? cost : 0), 0);
      expect(spent).toBeLessThanOrEqual(50);
      expect(spent).toBeGreaterThan(43);
    });
  });
}
