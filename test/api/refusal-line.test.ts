// Whoever is refused again and again is answered in a line, and nobody else waits in it.

import { afterEach, describe, expect, it } from '@jest/globals';

import type { RefusalLine } from '../../src/api/refusal-line.ts';
import { createRefusalLine } from '../../src/api/refusal-line.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { ManualClock } from '../adapters/memory/manual-clock.ts';
import { createManualClock } from '../adapters/memory/manual-clock.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const a = 'tnt_a' as TenantId;
const b = 'tnt_b' as TenantId;
const settled = () => new Promise((resolve) => void setImmediate(resolve));

function lineOf(clock: ManualClock) {
  let waiting = () => 0;
  const inLine = createRefusalLine({ clock, metrics: { gauge: (_, read) => void (waiting = read) } });
  return { inLine, waiting: () => waiting() };
}

/** How many of them are answered so far. */
function refused(inLine: RefusalLine, caller: TenantId | null | undefined, count: number): () => number {
  let answered = 0;
  for (let i = 0; i < count; i++) void inLine(caller ?? null).then(() => answered++);
  return () => answered;
}

describe('the line of refusals', () => {
  it('answers a hundred of a caller at once, then one each 10 ms', async () => {
    const clock = createManualClock();
    const { inLine, waiting } = lineOf(clock);
    const answered = refused(inLine, a, 150);
    await settled();
    // The first of the line has its time already.
    expect([answered(), waiting()]).toEqual([101, 49]);
    clock.advance(200);
    await settled();
    expect([answered(), waiting()]).toEqual([121, 29]);
    clock.advance(300);
    await settled();
    expect([answered(), waiting()]).toEqual([150, 0]);
  });

  it('takes a quarter of the time for what a limit counts', async () => {
    const clock = createManualClock();
    const { inLine, waiting } = lineOf(clock);
    for (let i = 0; i < 150; i++) void inLine(a, 'counted');
    await settled();
    expect(waiting()).toBe(49);
    clock.advance(50);
    await settled();
    expect(waiting()).toBe(29);
  });

  it('is one for each tenant, and one for all of whom nobody is known', async () => {
    const clock = createManualClock();
    const { inLine } = lineOf(clock);
    const answered = [refused(inLine, a, 500), refused(inLine, null, 500), refused(inLine, b, 1)];
    await settled();
    expect(answered.map((count) => count())).toEqual([101, 101, 1]);
  });

  it('answers all within two seconds, however many they are, and forgets what was', async () => {
    const clock = createManualClock();
    const { inLine, waiting } = lineOf(clock);
    const answered = refused(inLine, a, 1500);
    clock.advance(1999);
    await settled();
    expect(answered()).toBe(100 + 200);
    clock.advance(1);
    await settled();
    expect([answered(), waiting()]).toEqual([1500, 0]);
    clock.advance(3000);
    const later = refused(inLine, a, 100);
    await settled();
    expect(later()).toBe(100);
  });

  it('has an end: what is beyond it is answered at once', async () => {
    const clock = createManualClock();
    const { inLine, waiting } = lineOf(clock);
    const answered = refused(inLine, a, 2600);
    await settled();
    expect([answered(), waiting()]).toEqual([600, 2000]);
  });
});

describe('callers who are refused again and again', () => {
  let app: App | null = null;
  let waiting: () => number;
  const start = async (): Promise<App> => {
    app = await startApp({
      delivers: false,
      options: { rateLimit: { limit: 100_000, windowMs: 10_000 } },
      replace: ({ metrics, clock }) => ({
        // However slow the machine is, they come faster than they are answered.
        clock: { ...clock, monotonic: () => clock.monotonic() / 20 },
        metrics: {
          ...metrics,
          gauge(name, read, labels) {
            if (name === 'herald_refusals_waiting') waiting = read;
            metrics.gauge(name, read, labels);
          },
        },
      }),
    });
    return app;
  };
  afterEach(async () => {
    await app?.close();
    app = null;
  });
  const inApp = { channel: 'IN_APP', recipient: 'ada', body: 'World' };

  it.each([
    ['whose tokens open nothing', 'GET', '/api/v1/notifications', { authorization: 'Bearer e30.e30.AAAA' }],
    ['whose keys open nothing', 'POST', '/api/v1/notify', { 'x-api-key': 'nk_none' }],
    ['who have none', 'GET', '/api/v1/tenant', {}],
  ])('wait for their answers, %s, and have them; who is let in does not', async (_, method, path, headers) => {
    const { call, tenant } = await start();
    const one = await tenant('a');
    const calls = Array.from({ length: 300 }, () => call(method, path, headers, method === 'POST' ? inApp : undefined));
    await until(() => waiting() > 40, { what: 'what is over a hundred to wait' });
    expect((await one.notify(inApp)).status).toBe(202);
    expect((await one.dashboard('GET', '/tenant')).status).toBe(200);
    // And what it may not have it is told at once: its line is another one.
    expect((await one.dashboard('GET', '/notifications?limit=0')).status).toBe(400);
    expect(waiting()).toBeGreaterThan(0);
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 401));
    expect(waiting()).toBe(0);
  });

  it.each([
    ['what it may not have', 404, (one: Tenant) => one.dashboard('DELETE', '/keys/key_none')],
    ['what is wrong in its notifications', 400, (one: Tenant) => one.notify({ ...inApp, body: 7 })],
  ])('wait as a tenant for %s; what is right is taken at once', async (_, status, ask) => {
    const { tenant } = await start();
    const one = await tenant('a');
    const calls = Array.from({ length: 500 }, () => ask(one));
    await until(() => waiting() > 20, { what: 'what is over a hundred to wait' });
    expect((await one.notify(inApp)).status).toBe(202);
    expect(waiting()).toBeGreaterThan(0);
    expect((await Promise.all(calls)).map((reply) => reply.status)).toEqual(calls.map(() => status));
  });

  it('hold no room for bodies while they wait: what is right is taken, however large what was wrong', async () => {
    const { tenant } = await start();
    const one = await tenant('a');
    const large = { ...inApp, body: 'x'.repeat(190_000) };
    // From then on each is two seconds late.
    await Promise.all(Array.from({ length: 300 }, () => one.dashboard('DELETE', '/keys/key_none')));
    // A tenant alone may hold 4 MiB, 21 of them.
    const calls = Array.from({ length: 30 }, () => one.notify({ ...large, priority: 'NONE' }));
    await until(() => waiting() === 30, { what: 'all of them to be read, and to wait for their answers' });
    expect((await one.notify(large)).status).toBe(202);
    expect((await Promise.all(calls)).map((reply) => reply.status)).toEqual(calls.map(() => 400));
  });
});
