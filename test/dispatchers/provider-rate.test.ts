// A tenant's rate between processes that all have more than it: none is left out, HIGH goes before BULK, and nothing of the rate is lost.

import { describe, expect, it } from '@jest/globals';

import { createTakeRate } from '../../src/dispatchers/provider-rate.ts';
import { createFixedWindows } from '../../src/domain/fixed-windows.ts';
import type { Priority } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { createVirtualTime } from '../simulator/virtual-time.ts';

interface Process {
  readonly priority: Priority;
  /** From the limiter, there and back. */
  readonly farMs: number;
  /** How long an attempt takes; default: no time. */
  readonly tookMs?: number;
}

const secondsOf = (rate: number) => (rate > 100 ? 20 : 60);
/** As many of a tenant are in flight at once. */
const inFlightMax = 32;

/** What each of them took, as a part of all that the rate allows. */
async function takenBy(rate: number, processes: readonly Process[], role: 'primary' | 'fallback' = 'primary') {
  const time = createVirtualTime();
  const windows = createFixedWindows();
  const sleep = (ms: number) => new Promise<void>((resolve) => void time.after(ms, resolve));
  const taken = processes.map(() => 0);
  processes.forEach(({ priority, farMs, tookMs = 0 }, n) => {
    const takeRate = createTakeRate({
      channel: 'WEBHOOK',
      clock: { monotonic: () => time.now },
      limiter: {
        async pace(key, limit) {
          await sleep(farMs / 2);
          const decision = windows.pace(key, limit, time.now);
          await sleep(farMs / 2);
          return decision;
        },
      },
    });
    let heldUntil = 0;
    const attemptAfterAttempt = async () => {
      for (;;) {
        await sleep(Math.max(heldUntil - time.now, 0));
        const { allowed, restMs } = await takeRate({ tenantId: 'tnt_rated' as TenantId, priority }, role, rate);
        if (restMs !== null && heldUntil <= time.now) heldUntil = time.now + Math.ceil(restMs) + 1;
        if (!allowed) continue;
        taken[n] = (taken[n] ?? 0) + 1;
        await sleep(tookMs);
      }
    };
    for (let i = 0; i < inFlightMax; i++) void attemptAfterAttempt();
  });
  const seconds = secondsOf(rate);
  await time.run(() => false, seconds * 1000);
  return taken.map((count) => count / (rate * seconds));
}

const bulk = (farMs: number): Process => ({ priority: 'BULK', farMs });
const high = (farMs: number): Process => ({ priority: 'HIGH', farMs });

describe("a tenant's rate that several processes want more of", () => {
  it.each([
    [1, [1, 2]],
    [10, [1, 2]],
    [10, [0.1, 0.1]],
    [500, [1, 2]],
  ])('of %d a second goes to all of them alike, whoever is nearer to the limiter (%j ms)', async (rate, far) => {
    for (const priority of ['HIGH', 'BULK'] as const)
      for (const part of await takenBy(
        rate,
        far.map((farMs) => ({ priority, farMs })),
      )) {
        expect(part * far.length).toBeGreaterThan(0.6);
      }
  });

  it('goes to none alone, be one of them as late as a busy thread makes it', async () => {
    for (const [near, far] of [
      [bulk(1), bulk(40)],
      [high(1), high(40)],
      [high(1), bulk(40)],
      [bulk(1), high(40)],
    ] as const)
      for (const part of await takenBy(10, [near, far])) expect(part).toBeGreaterThan(0.05);
  });

  it.each([
    [1, [1, 2]],
    [1, [10, 1]],
    [10, [2, 1]],
    [10, [10, 1]],
    [500, [2, 1]],
  ])(
    'of %d a second goes to HIGH first, wherever it waits, and leaves BULK some (%j ms)',
    async (rate, [far, near]) => {
      const [urgent = 0, rest = 0] = await takenBy(rate, [high(far ?? 0), bulk(near ?? 0)]);
      expect(urgent).toBeGreaterThan(0.8);
      expect(rest).toBeGreaterThan(0.05);
    },
  );

  it('is taken in turn of a fallback too', async () => {
    for (const part of await takenBy(10, [bulk(1), bulk(2)], 'fallback')) expect(part).toBeGreaterThan(0.4);
  });

  it.each<[number, Process[]]>([
    [1, [bulk(1)]],
    [10, [bulk(1)]],
    [500, [bulk(1)]],
    [10, [high(1)]],
    [10, [{ ...bulk(1), tookMs: 2500 }]],
    [500, [{ ...bulk(1), tookMs: 50 }]],
    [1, [bulk(1), high(20)]],
    [10, [bulk(1), high(20)]],
    [500, [bulk(1), bulk(20)]],
  ])('of %d a second is reached and kept to by %j', async (rate, processes) => {
    const all = (await takenBy(rate, processes)).reduce((sum, part) => sum + part, 0);
    expect(all).toBeGreaterThan(0.95);
    expect(all).toBeLessThanOrEqual(1.0001);
  });
});
