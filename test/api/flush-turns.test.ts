// Flushes of batches: so many at a time over all batches, and a tenant never has the last one that is free while others have none.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createClock } from '../../src/adapters/node/clock.ts';
import { intakeLimits, quickFlushMs } from '../../src/api/batch-intake.ts';
import { createFlushTurns, flushesAtOnceMax, logRestMaxMs, slowFlushMs } from '../../src/api/flush-turns.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { App } from '../support/app.ts';
import { wholeTurns } from '../../src/ports/thread-turns.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const [a, b, c, d] = ['a', 'b', 'c', 'd'] as TenantId[] as [TenantId, TenantId, TenantId, TenantId];

const item = '{"channel":"IN_APP","recipient":"ada","body":"hi"}';

/** Whether a wait is over, without waiting for anything more to happen. */
async function isOver(taken: Promise<unknown>): Promise<boolean> {
  return Promise.race([taken.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

describe('the turns of flushes', () => {
  it('are a tenant’s as many as are still free: half, then a quarter', async () => {
    const turns = createFlushTurns(createClock(), 4);
    await Promise.all([turns.take(a), turns.take(a)]);
    const third = turns.take(a);
    expect(await isOver(third)).toBe(false);
    await turns.take(b);
    expect(await isOver(turns.take(b))).toBe(false);
    const giveBack = await turns.take(c);
    const other = turns.take(d);
    expect(await isOver(other)).toBe(false);
    giveBack();
    expect([await isOver(third), await isOver(other)]).toEqual([false, true]);
  });

  it('go on in the order in which they were asked for', async () => {
    const turns = createFlushTurns(createClock(), 2);
    const first = await turns.take(a);
    const [second, third] = [turns.take(a), turns.take(a)];
    expect(await isOver(second)).toBe(false);
    first();
    expect([await isOver(second), await isOver(third)]).toEqual([true, false]);
    (await second)();
    expect(await isOver(third)).toBe(true);
  });

  it('say how long the one that waits longest has waited, also where others go before it', async () => {
    let nowMs = 1000;
    const turns = createFlushTurns({ ...createClock(), monotonic: () => nowMs }, 4);
    await turns.take(a);
    const giveBack = await turns.take(a);
    expect(turns.longestWaitMs()).toBe(0);
    const oldest = turns.take(a);
    nowMs = 1500;
    await turns.take(b);
    const later = turns.take(b);
    nowMs = 3000;
    expect(turns.longestWaitMs()).toBe(2000);
    giveBack();
    await oldest;
    expect([turns.longestWaitMs(), await isOver(later)]).toEqual([1500, false]);
  });

  it('let the log rest as long as it took for the flush that ended last, never longer than its limit, and say when it is slow', async () => {
    let nowMs = 1000;
    const slept: number[] = [];
    const clock = { monotonic: () => nowMs, sleep: async (ms: number) => void slept.push(ms) };
    const turns = createFlushTurns(clock, 4);
    await turns.logRested();
    expect(slept).toEqual([]);
    const [first, second] = [await turns.take(a), await turns.take(b)];
    nowMs += 30;
    first();
    await turns.logRested();
    nowMs += 5;
    await turns.logRested();
    nowMs += 25;
    await turns.logRested();
    expect([slept, turns.isLogSlow()]).toEqual([[30, 25], false]);
    nowMs += slowFlushMs;
    second();
    await turns.logRested();
    expect([slept, turns.isLogSlow()]).toEqual([[30, 25, logRestMaxMs], true]);
    (await turns.take(a))();
    expect(turns.isLogSlow()).toBe(false);
  });
});

describe('of a batch', () => {
  let app: App;
  const gapsOf: TenantId[] = [];
  let areOthersAbout = false;
  /** What the thread was told of the work that came. */
  const kinds = new Set<string>();
  let [underWay, most] = [0, 0];
  /** Events of the largest append. */
  let largest = 0;
  /** By a clock that stands still otherwise: a busy machine makes no flush slow. */
  let logTakesMs = 0;
  let nowMs = 0;
  /** Items that take a ms each to be checked and are refused then: of the piece that runs, and of the largest one. */
  let [ofPiece, largestPiece] = [0, 0];
  /** Of each, whatever it does. */
  let pieceTakesMs = 0;

  beforeAll(async () => {
    const gap = async (tenantId: TenantId) => void gapsOf.push(tenantId);
    app = await startApp({
      delivers: false,
      folds: false,
      replace: ({ log: own, clock, outbound }) => ({
        clock: { ...clock, monotonic: () => nowMs },
        turns: {
          ...wholeTurns,
          isShared: () => areOthersAbout,
          gap,
          as(_tenantId, work, isBulk = false) {
            kinds.add(isBulk ? 'bulk' : 'awaited');
            return work();
          },
          piece(work) {
            ofPiece = 0;
            nowMs += pieceTakesMs;
            return work();
          },
        },
        outbound: {
          ...outbound,
          problemWithUrl() {
            nowMs++;
            largestPiece = Math.max(largestPiece, ++ofPiece);
            return 'goes nowhere';
          },
        },
        log: {
          ...own,
          async appendAll(events) {
            most = Math.max(most, ++underWay);
            largest = Math.max(largest, events.length);
            const results = await own.appendAll(events);
            nowMs += logTakesMs;
            // Time enough for the next flush to come.
            for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => void setImmediate(resolve));
            underWay--;
            return results;
          },
        },
      }),
    });
  });
  afterAll(() => app.close());

  it('each begins after a gap, in which the thread is others’; while others are about it is smaller, and one at a time', async () => {
    const lines = Array.from({ length: 2 * intakeLimits.flushItemsMax }, () => item);
    const tenant = await app.tenant('alone');
    const flushes: number[] = [];
    const mostAtOnce: number[] = [];
    for (areOthersAbout of [false, true]) {
      [gapsOf.length, most] = [0, 0];
      const headers = { 'content-type': 'application/x-ndjson' };
      const { body } = await tenant.withKey('POST', '/notify/batch', lines.join('\n'), headers);
      expect(body.accepted).toBe(lines.length);
      expect(new Set(gapsOf)).toEqual(new Set([tenant.id]));
      flushes.push(gapsOf.length);
      mostAtOnce.push(most);
    }
    // The last one of a body may be empty.
    expect(flushes[0]).toBeLessThanOrEqual(3);
    expect(flushes[1]).toBeGreaterThanOrEqual(5);
    // The log writes one while the next is made ready: alone.
    expect(mostAtOnce).toEqual([intakeLimits.flushesMax, intakeLimits.sharedFlushesMax]);
  });

  it('while others are about they are a tenth of one where they are quick, and no more of them than can be waited for where they aren’t', async () => {
    const tenant = await app.tenant('beside others');
    const { flushItemsMax, pieceItemsMax, sharedPart } = intakeLimits;
    const lines = Array.from({ length: 3 * flushItemsMax }, () => item);
    areOthersAbout = true;
    const largestOf = async (tookMs: number) => {
      [largest, logTakesMs] = [0, tookMs];
      const headers = { 'content-type': 'application/x-ndjson' };
      const reply = await tenant.withKey('POST', '/notify/batch', lines.join('\n'), headers);
      expect(reply.body.accepted).toBe(lines.length);
      return largest;
    };
    expect(await largestOf(0)).toBe(flushItemsMax / 10);
    const large = await largestOf(2 * quickFlushMs);
    expect(large).toBeGreaterThanOrEqual(flushItemsMax * sharedPart);
    // Whole pieces.
    expect(large).toBeLessThan((flushItemsMax + pieceItemsMax) * sharedPart);
  }, 60_000);

  it('a long one is bulk, for which nobody else’s need be smaller; a few notifications in one are as those by themselves', async () => {
    const tenant = await app.tenant('kinds');
    const told: string[][] = [];
    for (const items of [10, 2000]) {
      kinds.clear();
      const headers = { 'content-type': 'application/x-ndjson' };
      const { body } = await tenant.withKey('POST', '/notify/batch', `${item}\n`.repeat(items), headers);
      expect(body.accepted).toBe(items);
      told.push([...kinds]);
    }
    expect(told).toEqual([['awaited'], ['bulk']]);
  });

  it('what takes long to be checked and is refused, so that it comes to none, is checked a few at a time, with a gap after each', async () => {
    const tenant = await app.tenant('wrong');
    const items = 2 * intakeLimits.pieceItemsMax;
    const lines = Array.from(
      { length: items },
      () => '{"channel":"WEBHOOK","recipient":"https://nowhere","body":"hi"}',
    );
    [areOthersAbout, gapsOf.length] = [true, 0];
    const headers = { 'content-type': 'application/x-ndjson' };
    const { body } = await tenant.withKey('POST', '/notify/batch', lines.join('\n'), headers);
    expect([body.accepted, body.rejected]).toEqual([0, items]);
    // Nobody looks at the clock for each of them.
    expect(largestPiece).toBeLessThanOrEqual(10);
    expect(gapsOf.length).toBeGreaterThanOrEqual(items / 10);
  });

  it('what is no item at all, white space by the MiB, is looked through a piece at a time, with a gap after some of them', async () => {
    const tenant = await app.tenant('white');
    [areOthersAbout, gapsOf.length, pieceTakesMs] = [true, 0, intakeLimits.pieceMs / 2];
    const spaces = ' '.repeat(4 * 1024 * 1024);
    const headers = { 'content-type': 'application/json' };
    const { body } = await tenant.withKey('POST', '/notify/batch', `{"notifications":[${item}${spaces}]}`, headers);
    pieceTakesMs = 0;
    expect(body.results).toMatchObject([{ code: 'PAYLOAD_TOO_LARGE' }]);
    // A chunk is 64 KiB at most.
    expect(gapsOf.length).toBeGreaterThanOrEqual((4 * 1024) / 64 / 2);
  });
});

describe('of many batches at once', () => {
  let app: App;
  /** Appends of batches that the log has not answered yet: each ends its wait. */
  const held: (() => void)[] = [];
  let isHolding = false;
  let most = 0;

  beforeAll(async () => {
    app = await startApp({
      delivers: false,
      folds: false,
      options: { itemLimit: { limit: 1_000_000, windowMs: 10_000 } },
      replace: ({ log: own }) => ({
        log: {
          ...own,
          async appendAll(events) {
            if (isHolding) await new Promise<void>((resolve) => (most = Math.max(most, held.push(resolve))));
            return own.appendAll(events);
          },
        },
      }),
    });
  });
  afterAll(() => app.close());

  const items = 2 * intakeLimits.flushItemsMax;
  const lines = Array.from({ length: items }, (_, i) => `{"channel":"IN_APP","recipient":"r${i}","body":"hi"}`);
  const headers = { 'content-type': 'application/x-ndjson' };

  it('one tenant’s leave another’s its turn, and all are accepted once the log answers', async () => {
    const [flooding, other] = [await app.tenant('flooding'), await app.tenant('other')];
    const post = (of: typeof other) => of.withKey('POST', '/notify/batch', lines.join('\n'), headers);
    isHolding = true;
    const flood = [1, 2, 3, 4].map(() => post(flooding));
    await until(() => held.length === flushesAtOnceMax / 2, { what: 'a tenant to have its share of flushes' });
    const others = post(other);
    await until(() => held.length === flushesAtOnceMax / 2 + 1, { what: 'the other to have one' });
    isHolding = false;
    for (const go of held) go();
    const replies = await Promise.all([...flood, others]);
    expect(replies.map(({ status, body }) => [status, body.accepted])).toEqual(replies.map(() => [202, items]));
    expect(most).toBeLessThanOrEqual(flushesAtOnceMax);
  }, 60_000);
});
