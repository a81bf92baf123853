// Many streams of the same: what they are told is read and rendered once for all of them, and one tenant's streams leave the thread to others.

import { afterEach, describe, expect, it } from '@jest/globals';

import { createCatchUpTurns } from '../../src/api/catch-up-turns.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { App, AppOptions } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { EventReader } from '../support/event-source.ts';
import { readEvents } from '../support/event-source.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App | null = null;
const open: EventReader[] = [];

const start = async (replace: NonNullable<AppOptions['replace']>): Promise<App> => (app = await startApp({ replace }));

afterEach(async () => {
  for (const reader of open.splice(0)) await reader.close();
  await app?.close();
  app = null;
});

const item = (body: string) => ({ channel: 'IN_APP', recipient: 'ada', body });

const inboxes = (to: App, tenant: Tenant, count: number, lastEventId?: string) =>
  readers(count, `${to.url}/api/v1/notify/inapp/ada/stream`, {
    'x-api-key': tenant.apiKey,
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  });

const readers = async (count: number, url: string, headers: Record<string, string>) => {
  const opened = await Promise.all(Array.from({ length: count }, () => readEvents(url, headers)));
  open.push(...opened);
  return opened;
};

const idsOf = ({ events }: EventReader) => events.map(({ data }) => String(data.notificationId));

describe('an item of an inbox', () => {
  it('is read once for all who listen', async () => {
    let read = 0;
    const started = await start(({ reader }) => ({
      reader: {
        ...reader,
        async get(collection, ids, only) {
          if (collection === 'inbox_contents') read += ids.length;
          return reader.get(collection, ids, only);
        },
      },
    }));
    const tenant = await started.tenant('a');
    const streams = await inboxes(started, tenant, 12);
    for (let i = 0; i < 5; i++) await tenant.notify(item('x'.repeat(50_000)));
    await until(() => streams.every(({ events }) => events.length === 5), { what: 'all items, at every stream' });
    for (const stream of streams) expect(idsOf(stream)).toEqual(idsOf(streams[0] as EventReader));
    // Those who are told of one now and of the next then are read for apart.
    expect(read).toBeLessThan(5 * 6);
  });

  it('that was missed is read together for those who come back from the same place', async () => {
    const asked = new Map<string, number>();
    const gate = Promise.withResolvers<void>();
    let isHeld = false;
    const started = await start(({ reader }) => ({
      reader: {
        ...reader,
        async get(collection, ids, only) {
          if (collection === 'inbox_contents') for (const id of ids) asked.set(id, (asked.get(id) ?? 0) + 1);
          return reader.get(collection, ids, only);
        },
        async positions(...args) {
          if (isHeld) await gate.promise;
          return reader.positions(...args);
        },
      },
    }));
    const tenant = await started.tenant('a');
    const [first] = await inboxes(started, tenant, 1);
    await until(() => (first?.connected.length ?? 0) > 0, { what: 'the first id' });
    // As much as every connection takes at once: who takes less comes from another place from then on.
    for (let i = 0; i < 5; i++) await tenant.notify(item('x'.repeat(5_000)));
    await until(() => first?.events.length === 5, { what: 'the items' });
    asked.clear();
    isHeld = true;
    const resumed = await inboxes(started, tenant, 12, first?.connected[0]?.id ?? '');
    gate.resolve();
    await until(() => resumed.every(({ events }) => events.length === 5), { what: 'what was missed' });
    for (const stream of resumed) expect(idsOf(stream)).toEqual(idsOf(first as EventReader));
    expect(Math.max(...asked.values())).toBeLessThan(8);
  });
});

it('who waited for another tenant’s turns does not rest for them', async () => {
  const rests: number[] = [];
  const started = await start(({ clock }) => ({
    clock: {
      ...clock,
      async sleep(ms, signal) {
        if (signal === undefined) rests.push(ms);
        return clock.sleep(ms, signal);
      },
    },
  }));
  const { turns } = started.deps;
  const done = new AbortController();
  const hog = async () => {
    while (!done.signal.aborted) {
      await turns.next();
      const until = performance.now() + 50;
      turns.piece(() => {
        while (performance.now() < until);
      });
    }
  };
  const tenant = await started.tenant('a');
  const [stream] = await inboxes(started, tenant, 1);
  const hogs = Array.from({ length: 6 }, () => turns.as('tnt_hog' as TenantId, hog));
  rests.length = 0;
  for (let i = 1; i <= 4; i++) {
    await tenant.notify(item(`${i}`));
    await until(() => stream?.events.length === i, { what: 'the item' });
  }
  done.abort();
  await Promise.all(hogs);
  // Three times its own work: a machine may stand still in one of the looks. One turn of all six is 300 ms.
  expect(rests.length < 4 ? 0 : Math.min(...rests)).toBeLessThan(300);
});

describe('dashboards that come back', () => {
  it('are read for together: the log is read for the first, and once for all who wait meanwhile', async () => {
    const read = new Map<string, number>();
    const gate = Promise.withResolvers<void>();
    const started = await start(({ log }) => ({
      log: {
        ...log,
        async *read(range) {
          await gate.promise;
          for await (const entry of log.read(range)) {
            const key = `${entry.topic} ${entry.partition} ${entry.offset}`;
            read.set(key, (read.get(key) ?? 0) + 1);
            yield entry;
          }
        },
      },
    }));
    const tenant = await started.tenant('a');
    const url = `${started.url}/api/v1/dashboard/stream?token=${tenant.token}`;
    const [first] = await readers(1, url, {});
    await first?.atLeast(1);
    for (let i = 0; i < 10; i++) await tenant.notify(item(`${i}`));
    await first?.atLeast(21);
    const resumed = await readers(12, url, { 'last-event-id': first?.events[0]?.id ?? '' });
    for (const stream of resumed) await stream.atLeast(1);
    gate.resolve();
    for (const stream of resumed) await stream.atLeast(21);
    for (const stream of resumed) expect(idsOf(stream).toSorted()).toEqual(idsOf(first as EventReader).toSorted());
    expect(read.size).toBe(20);
    expect(Math.max(...read.values())).toBeLessThanOrEqual(2);
  });
});

describe('the turns of tenants', () => {
  const [a, b] = ['a', 'b'] as TenantId[] as [TenantId, TenantId];

  it('are followed by a rest of three times their work, in which others have theirs', async () => {
    const rests: number[] = [];
    const rest = Promise.withResolvers<void>();
    const takeTurn = createCatchUpTurns(2, {
      async sleep(ms) {
        rests.push(ms);
        if (rests.length === 1) await rest.promise;
      },
    });
    const order: string[] = [];
    const work = (name: string, tookMs: number) => async () => {
      order.push(name);
      return tookMs;
    };
    await takeTurn(a, work('a1', 20));
    const second = takeTurn(a, work('a2', 5000));
    await takeTurn(b, work('b1', 0));
    expect([order, rests]).toEqual([['a1', 'b1'], [60]]);
    rest.resolve();
    await second;
    await takeTurn(a, work('a3', 0));
    expect([order, rests]).toEqual([
      ['a1', 'b1', 'a2', 'a3'],
      [60, 3000],
    ]);
  });

  it('go on after one that failed', async () => {
    const takeTurn = createCatchUpTurns(1, { sleep: async () => undefined });
    const failing = takeTurn(a, async () => Promise.reject(new Error('away')));
    let isDone = false;
    const next = takeTurn(a, async () => {
      isDone = true;
      return 0;
    });
    await expect(failing).rejects.toThrow('away');
    await next;
    expect(isDone).toBe(true);
  });
});
