// What holds for every live stream: resumed without gap or repeat, bounded, ended with what let it in, nothing left behind.

import type { Socket } from 'node:net';
import { connect } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';

import type { LogEntry } from '../../src/ports/event-log.ts';
import type { App, AppOptions } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { EventReader } from '../support/event-source.ts';
import { readEvents } from '../support/event-source.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
const open: EventReader[] = [];
const sockets: Socket[] = [];

const start = async (streams: NonNullable<AppOptions['options']>['streams'] = {}, more: AppOptions = {}) => {
  app = await startApp({ ...more, options: { streams } });
};

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const reader of open.splice(0)) await reader.close();
  await app.close();
});

const to = (recipient: string, body = 'World') => ({ channel: 'IN_APP', recipient, body });

const inbox = async (tenant: Tenant, recipient: string, lastEventId?: string) => {
  const reader = await readEvents(`${app.url}/api/v1/notify/inapp/${recipient}/stream`, {
    'x-api-key': tenant.apiKey,
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  });
  open.push(reader);
  return reader;
};

const dashboard = async (tenant: { readonly token: string }, lastEventId?: string) => {
  const headers: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const reader = await readEvents(`${app.url}/api/v1/dashboard/stream?token=${tenant.token}`, headers);
  open.push(reader);
  return reader;
};

/** A client that asks for a stream and doesn't read. */
const deaf = async (tenant: Tenant, path: string, headers = ''): Promise<Socket> => {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  sockets.push(socket);
  socket.pause();
  socket.on('error', () => {});
  socket.write(
    `GET /api/v1${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.apiKey}\r\nauthorization: Bearer ${tenant.token}\r\n${headers}\r\n`,
  );
  return socket;
};

const metric = async (start: string): Promise<number> => {
  const page = await (app.deps.metrics as unknown as { read(): Promise<string> }).read();
  const line = page.split('\n').find((one) => one.startsWith(start));
  return line === undefined ? 0 : Number(line.split(' ').at(-1));
};
const streamsOpen = (count: number) => until(async () => (await metric('herald_streams ')) === count);
const endedBy = (reason: string) =>
  until(async () => (await metric(`herald_streams_ended_total{reason="${reason}"}`)) > 0, { what: reason });

/** (notification, status), without what says that it is connected. */
const told = (reader: EventReader) =>
  reader.events.slice(1).map(({ data }) => `${String(data.notificationId)} ${String(data.status)}`);

/** Its id is of a log that was longer: this one was put back from an earlier time since. */
describe('a stream that has told more than the log holds', () => {
  it("begins anew and tells what comes: the dashboard's says that there is a gap", async () => {
    await start();
    const tenant = await app.tenant('a');
    const first = await dashboard(tenant);
    await first.atLeast(1);
    const resumed = await dashboard(tenant, first.events[0]?.id?.replaceAll(/\.[0-9a-z]+/g, '.zz'));
    await resumed.atLeast(1);
    expect(resumed.events[0]?.data).toMatchObject({ event: 'connected', gap: true });
    const { body } = await tenant.notify(to('ada'));
    await until(() => told(resumed).includes(`${body.notificationId} DELIVERED`), { what: 'the delivery' });
  });

  it.each(['1000.-1', '-1.1000'])("begins anew and tells what comes: an inbox's at %s", async (id) => {
    await start();
    const tenant = await app.tenant('a');
    const resumed = await inbox(tenant, 'ada', id);
    const { body } = await tenant.notify(to('ada'));
    await until(() => resumed.events.some(({ data }) => data.notificationId === body.notificationId), {
      what: 'the item',
    });
    await tenant.withKey('POST', '/notify/inapp/ada/read');
    await until(() => resumed.events.some(({ event }) => event === 'read'), { what: 'that it is read' });
  });
});

describe("the dashboard's stream", () => {
  it('goes on after Last-Event-ID without gap or repeat, wherever it was cut and whatever came meanwhile', async () => {
    await start();
    const [tenant, other] = [await app.tenant('a'), await app.tenant('b')];
    const whole = await dashboard(tenant);
    await whole.atLeast(1);
    for (let i = 0; i < 15; i++) {
      await tenant.notify(to(`user-${i}`));
      await other.notify(to(`user-${i}`));
    }
    await whole.atLeast(31);
    for (const cut of [0, 1, 14, 30]) {
      const lastId = whole.events[cut]?.id ?? '';
      const { body } = await tenant.notify(to('ada'));
      const resumed = await dashboard(tenant, lastId);
      await until(() => told(whole).includes(`${body.notificationId} DELIVERED`));
      const expected = told(whole).slice(cut);
      await resumed.atLeast(expected.length + 1);
      expect(resumed.events[0]?.data).toEqual({ event: 'connected', tenantId: tenant.id });
      expect(told(resumed).toSorted()).toEqual(expected.toSorted());
      await resumed.close();
    }
  });

  it('loses nothing while notifications keep coming and it is cut again and again', async () => {
    await start();
    const tenant = await app.tenant('a');
    const all: string[] = [];
    const seen: string[] = [];
    let reader = await dashboard(tenant);
    await reader.atLeast(1);
    for (let round = 0; round < 6; round++) {
      const sending = Promise.all(Array.from({ length: 10 }, (_, i) => tenant.notify(to(`user-${i}`))));
      await reader.atLeast(4);
      await reader.close();
      seen.push(...told(reader));
      for (const { body } of await sending)
        all.push(`${body.notificationId} QUEUED`, `${body.notificationId} DELIVERED`);
      reader = await dashboard(tenant, reader.events.at(-1)?.id ?? '');
    }
    await until(() => seen.length + told(reader).length >= all.length, { what: `${all.length} changes` });
    expect([...seen, ...told(reader)].toSorted()).toEqual(all.toSorted());
  });

  it('loses nothing where a partition’s time goes back, by a leader whose clock is behind', async () => {
    const behind = (entry: LogEntry): LogEntry => ({
      ...entry,
      event: entry.event,
      appendedAt: entry.appendedAt - 60_000 * entry.offset,
    });
    await start(
      {},
      {
        replace: ({ log }) => ({
          log: {
            ...log,
            tail: (topics, listen) => log.tail(topics, (entry) => listen(behind(entry))),
            async *read(range) {
              for await (const entry of log.read(range)) yield behind(entry);
            },
          },
        }),
      },
    );
    const tenant = await app.tenant('a');
    const whole = await dashboard(tenant);
    await whole.atLeast(1);
    const sent = await Promise.all(Array.from({ length: 20 }, (_, i) => tenant.notify(to(`user-${i}`))));
    const ends = sent.map(({ body }) => `${body.notificationId} DELIVERED`).toSorted();
    const isTold = (reader: EventReader) => () => told(reader).filter((one) => one.endsWith('DELIVERED')).length === 20;
    await until(isTold(whole), { what: 'all that is sent' });
    const resumed = await dashboard(tenant, whole.events[0]?.id ?? '');
    await until(isTold(resumed), { what: 'all that was missed' });
    for (const reader of [whole, resumed])
      expect(
        told(reader)
          .filter((one) => ends.includes(one))
          .toSorted(),
      ).toEqual(ends);
  });

  it('says that there is a gap where an id is of another tenant, and refuses what is no id', async () => {
    await start();
    const [tenant, other] = [await app.tenant('a'), await app.tenant('c')];
    const [mine, theirs] = [await dashboard(tenant), await dashboard(other)];
    await mine.atLeast(1);
    await theirs.atLeast(1);
    expect((await dashboard(tenant, 'x y')).status).toBe(400);
    const foreign = await dashboard(tenant, '99.1.2.3');
    await foreign.atLeast(1);
    expect(foreign.events[0]?.data).toEqual({ event: 'connected', tenantId: tenant.id, gap: true });
    const theirId = theirs.events[0]?.id ?? '';
    expect((await dashboard(tenant, theirId)).status).toBe(200);
  });

  it('says that there is a gap where more was missed than is read again, and goes on from the end', async () => {
    let isFarAhead = false;
    await start(
      {},
      {
        replace: ({ log }) => ({
          log: {
            ...log,
            ends: async (topic) => (await log.ends(topic)).map((end) => (isFarAhead ? end + 30_000 : end)),
          },
        }),
      },
    );
    const tenant = await app.tenant('a');
    const first = await dashboard(tenant);
    await first.atLeast(1);
    isFarAhead = true;
    const [resumed, fresh] = [await dashboard(tenant, first.events[0]?.id ?? ''), await dashboard(tenant)];
    await resumed.atLeast(1);
    await fresh.atLeast(1);
    expect(resumed.events[0]?.data).toEqual({ event: 'connected', tenantId: tenant.id, gap: true });
    expect(fresh.events[0]?.data).toEqual({ event: 'connected', tenantId: tenant.id });
  });

  it('ends when its token does', async () => {
    await start();
    await app.tenant('short');
    // The tokens of the tests last for hours; a 900th of one is 4 s, counted in whole seconds.
    const person = await app.person('short', { hours: 1 / 900 });
    const reader = await dashboard(person);
    await reader.atLeast(1);
    expect(reader.hasEnded()).toBe(false);
    const startedAt = performance.now();
    await until(() => reader.hasEnded(), { timeoutMs: 10_000, what: 'the end' });
    expect(performance.now() - startedAt).toBeLessThan(6000);
    await endedBy('expired');
  });
});

describe('a stream', () => {
  it('of a key that was regenerated ends within 5 s by the limits as they are', async () => {
    await start();
    const tenant = await app.tenant('a');
    const reader = await inbox(tenant, 'ada');
    await tenant.dashboard('POST', '/auth/regenerate-key');
    await until(() => reader.hasEnded(), { timeoutMs: 5000, what: 'the end' });
    expect((await inbox(tenant, 'ada')).status).toBe(401);
  });

  it('of a client that vanishes leaves nothing behind', async () => {
    await start({ perTenantMax: 2 });
    const tenant = await app.tenant('a');
    for (let i = 0; i < 3; i++) {
      const opened = [await deaf(tenant, '/notify/inapp/ada/stream'), await deaf(tenant, '/dashboard/stream')];
      await streamsOpen(2);
      for (const socket of opened) socket.destroy();
      await streamsOpen(0);
    }
    const [first, second] = [await inbox(tenant, 'ada'), await dashboard(tenant)];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect((await inbox(tenant, 'ada')).status).toBe(429);
  });

  it('of a client that goes while its key is looked up takes no place', async () => {
    const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await start(
      { perTenantMax: 1 },
      {
        replace: ({ directory }) => ({
          directory: {
            ...directory,
            async holderOfApiKey(apiKey) {
              asked.resolve();
              await gate.promise;
              return directory.holderOfApiKey(apiKey);
            },
          },
        }),
      },
    );
    const tenant = await app.tenant('a');
    const socket = await deaf(tenant, '/notify/inapp/ada/stream');
    const arrived = () => app.lines.some(({ fields }) => fields['route'] === '/notify/inapp/:userId/stream');
    await asked.promise;
    socket.destroy();
    await until(arrived, { what: 'the line of the request' });
    gate.resolve();
    expect((await inbox(tenant, 'ada')).status).toBe(200);
  });

  it('over the cap of the process gets 503 with Retry-After, over its tenant’s 429 with Retry-After', async () => {
    await start({ perProcessMax: 3, perTenantMax: 2 });
    const [a, b] = [await app.tenant('a'), await app.tenant('b')];
    expect([(await inbox(a, 'x')).status, (await dashboard(a)).status]).toEqual([200, 200]);
    const tooMany = await a.withKey('GET', '/notify/inapp/y/stream');
    expect([tooMany.status, tooMany.body.code, tooMany.headers.get('retry-after')]).toEqual([
      429,
      'TOO_MANY_REQUESTS',
      '60',
    ]);
    expect((await inbox(b, 'x')).status).toBe(200);
    const full = await b.withKey('GET', '/notify/inapp/y/stream');
    expect([full.status, full.body.code, full.headers.get('retry-after')]).toEqual([503, 'SERVICE_UNAVAILABLE', '60']);
  });

  it('of a recipient beyond the twentieth gets 429 with Retry-After, and other recipients have theirs', async () => {
    await start();
    const tenant = await app.tenant('a');
    for (let i = 0; i < 20; i++) expect((await inbox(tenant, 'ada')).status).toBe(200);
    const tooMany = await tenant.withKey('GET', '/notify/inapp/ada/stream');
    expect([tooMany.status, tooMany.body.code, tooMany.headers.get('retry-after')]).toEqual([
      429,
      'TOO_MANY_REQUESTS',
      '60',
    ]);
    expect([(await inbox(tenant, 'bob')).status, (await dashboard(tenant)).status]).toEqual([200, 200]);
    await open.shift()?.close();
    await until(async () => (await inbox(tenant, 'ada')).status === 200, { what: 'the place to be free' });
  });

  it('whose reader does not read is waited for, then dropped; the reader beside it has everything', async () => {
    await start({ heartbeatMs: 200 });
    const tenant = await app.tenant('a');
    await deaf(tenant, '/notify/inapp/ada/stream');
    await streamsOpen(1);
    const reader = await inbox(tenant, 'ada');
    const body = 'x'.repeat(200_000);
    const count = 40;
    for (let i = 0; i < count; i++) await tenant.notify(to('ada', body));
    await until(() => reader.events.length === count, { what: 'all items' });
    await endedBy('slow');
    await streamsOpen(1);
    expect(reader.hasEnded()).toBe(false);
  });

  it('whose readers do not read are dropped, the furthest behind first, once too much waits for all of them', async () => {
    await start({ totalBufferedBytesMax: 1024 * 1024 });
    const tenant = await app.tenant('a');
    for (let i = 0; i < 10; i++) await deaf(tenant, '/notify/inapp/ada/stream');
    await streamsOpen(10);
    const reader = await inbox(tenant, 'ada');
    const body = 'x'.repeat(200_000);
    // Long before the heartbeats that would tell a reader that reads nothing; the sockets take some MB of each first.
    let sent = 0;
    await until(
      async () => {
        await tenant.notify(to('ada', body));
        sent++;
        return (await metric('herald_streams_ended_total{reason="slow"}')) >= 5;
      },
      { timeoutMs: 30_000, what: 'readers that are dropped' },
    );
    await until(() => reader.events.length === sent, { what: 'all items' });
    expect(reader.hasEnded()).toBe(false);
  }, 60_000);

  it('that is resumed a long way behind gets all of it, larger than what is buffered for a reader', async () => {
    await start();
    const tenant = await app.tenant('a');
    const first = await inbox(tenant, 'ada');
    await tenant.notify(to('ada', 'first'));
    await first.atLeast(1);
    await first.close();
    const body = 'x'.repeat(150_000);
    const sent: string[] = [];
    for (let i = 0; i < 30; i++) sent.push((await tenant.notify(to('ada', body))).body.notificationId);
    const resumed = await inbox(tenant, 'ada', first.events[0]?.id ?? '');
    await until(() => resumed.events.length >= 30, { what: 'what was missed' });
    expect(resumed.events.map(({ data }) => String(data.notificationId)).toSorted()).toEqual(sent.toSorted());
    expect(resumed.hasEnded()).toBe(false);
  });

  it('goes on by itself when the read model was away', async () => {
    let isAway = false;
    await start(
      {},
      {
        replace: ({ reader }) => ({
          reader: {
            ...reader,
            positions: async (...args) => {
              if (isAway) throw new Error('the disk is gone');
              return reader.positions(...args);
            },
          },
        }),
      },
    );
    const tenant = await app.tenant('a');
    const [items, changes] = [await inbox(tenant, 'ada'), await dashboard(tenant)];
    await changes.atLeast(1);
    isAway = true;
    await tenant.notify(to('ada'));
    await until(() => app.lines.filter(({ message }) => message.includes('wait for the read model')).length >= 2);
    expect([items.events.length, changes.events.length]).toEqual([0, 1]);
    isAway = false;
    await items.atLeast(1);
    await changes.atLeast(3);
  });
});
