// GET /events: a tenant's history as pages and as lines, its cursors, and what bounds a reader.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';

import { partitionsOfTenant } from '../../src/domain/topics.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { LogEntry } from '../../src/ports/event-log.ts';
import type { App, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

interface Told {
  readonly type: string;
  readonly eventId: string;
  readonly notificationId: string | null;
  readonly appendedAt: string;
  readonly [field: string]: unknown;
}

const ndjson = { accept: 'application/x-ndjson' };
let app: App;
let sink: HttpSink;
let tenant: Tenant;
let failing: string;
let delivered: string;

beforeAll(async () => {
  sink = await startHttpSink({
    respond: ({ path }, response) => response.writeHead(path === '/broken' ? 400 : 200).end('said so'),
  });
  app = await startApp();
  tenant = await app.tenant('historian', { email: 'owner@example.com' });
  const other = await app.tenant('neighbour');
  const id = ({ body }: Reply): string => body.notificationId;
  failing = id(
    await tenant.notify({ channel: 'WEBHOOK', recipient: `${sink.url}/broken`, body: 'text of the webhook' }),
  );
  for (let i = 0; i < 30; i++) {
    delivered = id(await tenant.notify({ channel: 'IN_APP', recipient: 'ada', body: `item ${i}`, data: { i } }));
    await other.notify({ channel: 'IN_APP', recipient: 'ada', body: 'of the neighbour' });
  }
  await until(async () => (await tenant.withKey('GET', '/notify/inapp/ada')).body.unreadCount === 30, {
    what: 'items',
  });
  await tenant.withKey('POST', '/notify/inapp/ada/read');
  const statusOf = async () => (await tenant.withKey('GET', `/notify/${failing}`)).body.notification.status;
  await until(async () => (await statusOf()) === 'FAILED', { what: 'the failure' });
});
afterAll(async () => {
  await app.close();
  await sink.close();
});

const events = (query: string, headers: Record<string, string> = {}) =>
  tenant.dashboard('GET', `/events?${query}`, undefined, headers);

/** The log's own word on what is the tenant's. */
async function inLog(of: Tenant): Promise<readonly LogEntry[]> {
  const { log } = app.deps;
  const found: LogEntry[] = [];
  const topics = ['in-app.default', 'webhook.default', 'deliveries', 'inbox', 'settings'];
  for (const topic of topics.map((name) => `notifications.${name}`))
    for (const partition of partitionsOfTenant(of.id as TenantId, log.partitioning))
      for await (const entry of log.read({ topic, partition, from: 0, to: Infinity }))
        if (entry.event?.tenantId === of.id) found.push(entry);
  return found;
}

function linesOf({ body }: Reply): { readonly told: readonly Told[]; readonly end: Record<string, unknown> } {
  const lines = String(body)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Told);
  const end = lines.at(-1);
  if (end === undefined || !('endCursor' in end)) throw new Error('it doesn’t end with its cursors');
  return { told: lines.slice(0, -1), end };
}

const idsOf = (told: readonly Told[]) => told.map(({ eventId }) => eventId);

describe('a page', () => {
  it('holds the tenant’s events of the log, oldest first, and nothing else', async () => {
    const { status, body } = await events('limit=1000');
    const entries = await inLog(tenant);
    expect(status).toBe(200);
    expect(idsOf(body.data).toSorted()).toEqual(entries.map(({ event }) => String(event?.eventId)).toSorted());
    const times = body.data.map(({ appendedAt }: Told) => appendedAt);
    expect(times).toEqual(times.toSorted());
    expect(body).toMatchObject({ nextCursor: null, endCursor: expect.any(String), hasGap: false });
    expect(JSON.stringify(body)).not.toContain('of the neighbour');
  });

  it('goes on behind its cursor: no gap, no repeat, whatever its size', async () => {
    const whole = idsOf((await events('limit=1000')).body.data);
    for (const limit of [1, 7, 50]) {
      const seen: string[] = [];
      for (let cursor = ''; ;) {
        const { body } = await events(`limit=${limit}${cursor}`);
        seen.push(...idsOf(body.data));
        if (body.nextCursor === null) break;
        expect(body.nextCursor).toBe(body.endCursor);
        cursor = `&cursor=${body.nextCursor}`;
      }
      expect(seen).toEqual(whole);
    }
  });

  it('ends with a place behind which what comes later is told, alone', async () => {
    const { body } = await events('limit=1000');
    expect((await events(`cursor=${body.endCursor}`)).body).toMatchObject({ data: [], nextCursor: null });
    const { body: sent } = await tenant.notify({ channel: 'IN_APP', recipient: 'later', body: 'later' });
    const since = async () => (await events(`cursor=${body.endCursor}`)).body.data as Told[];
    await until(async () => (await since()).length === 2, { what: 'request and delivery' });
    expect((await since()).map(({ type, notificationId }) => [type, notificationId])).toEqual([
      ['NotificationRequested', sent.notificationId],
      ['AttemptSucceeded', sent.notificationId],
    ]);
  });

  it('of one notification has its events alone, in their order, the content once', async () => {
    const { body } = await events(`notificationId=${failing}`);
    expect(body.data.map(({ type }: Told) => type)).toEqual(['NotificationRequested', 'AttemptFailed']);
    const [requested, failed] = body.data;
    expect(requested).toMatchObject({ channel: 'WEBHOOK', request: { body: 'text of the webhook', data: {} } });
    expect(failed).toMatchObject({ errorClass: 'recipient', errorCode: '400', nextRetryAt: null, attempt: 1 });
    const types = (await events(`notificationId=${delivered}`)).body.data.map(({ type }: Told) => type);
    expect(types).toEqual(['NotificationRequested', 'AttemptSucceeded', 'InboxRead']);
    expect((await events('notificationId=notif_01mdnfhzm0fw3rybjxwgeqmh66')).body.data).toEqual([]);
  });

  it('of a type and of a time has what fits', async () => {
    const { body } = await events('limit=1000');
    const all: readonly Told[] = body.data;
    const ofType = (await events('type=AttemptSucceeded&limit=1000')).body.data;
    expect(idsOf(ofType)).toEqual(idsOf(all.filter(({ type }) => type === 'AttemptSucceeded')));
    const [from, to] = [all[10]?.appendedAt ?? '', all[40]?.appendedAt ?? ''];
    const between = (await events(`limit=1000&from=${from}&to=${to}`)).body.data;
    expect(idsOf(between)).toEqual(idsOf(all.filter(({ appendedAt: at }) => at >= from && at < to)));
    expect((await events('from=2100-01-01T00:00:00Z')).body.data).toEqual([]);
  });

  it('of a key with the scope read is the same', async () => {
    const { body: made } = await tenant.dashboard('POST', '/keys', { name: 'reads', scopes: ['read'] });
    const { body } = await app.call('GET', '/api/v1/events?limit=3', { 'x-api-key': made.key });
    expect(idsOf(body.data)).toEqual(idsOf((await events('limit=3')).body.data));
  });

  it('refuses a cursor that is forged or another tenant’s, a time, type or limit that is none', async () => {
    const { body } = await events('limit=1');
    const [payload = '', signature = ''] = body.nextCursor.split('.');
    const forged = Buffer.from(JSON.stringify(JSON.parse(Buffer.from(payload, 'base64url').toString()))).toString(
      'base64',
    );
    const stranger = await app.tenant('stranger-of-events');
    const theirs = (await stranger.dashboard('GET', '/events?limit=1')).body.endCursor;
    for (const [query, path] of [
      [`cursor=${payload}x.${signature}`, 'cursor'],
      [`cursor=${forged}.AAAA`, 'cursor'],
      [`cursor=${theirs}`, 'cursor'],
      ['from=yesterday', 'from'],
      ['type=Nothing', 'type'],
      ['type=DeadLettered', 'type'],
      ['limit=0', 'limit'],
      ['limit=100001', 'limit'],
      ['notificationId=x', 'notificationId'],
    ] as const) {
      const refused = await events(query);
      expect([query, refused.status, refused.body.details?.[0]?.path]).toEqual([query, 400, path]);
    }
  });
});

describe('lines', () => {
  it('are the events of the pages, and the last one is the cursors', async () => {
    const page = await events('limit=1000');
    const reply = await events('', ndjson);
    expect(reply.headers.get('content-type')).toBe('application/x-ndjson');
    const { told, end } = linesOf(reply);
    expect(told).toEqual(page.body.data);
    expect(end).toEqual({ nextCursor: null, endCursor: page.body.endCursor, hasGap: false });
    const first = linesOf(await events('limit=5', ndjson));
    const rest = linesOf(await events(`cursor=${String(first.end['nextCursor'])}`, ndjson));
    expect(idsOf([...first.told, ...rest.told])).toEqual(idsOf(told));
  });

  it('are refused as a page is', async () => {
    const { status, body } = await events('cursor=nonsense', ndjson);
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
  });

  it('have two readers a tenant: one more waits for nobody and is 429, and a reader that goes gives its place back', async () => {
    const own = await startApp({ delivers: false, server: { silenceTimeout: 60_000 } });
    const reader = await own.tenant('slow-reader');
    // More than the buffers of a connection hold: a reader that takes nothing is waited for.
    const item = { channel: 'IN_APP', recipient: 'ada', body: 'x'.repeat(100_000) };
    const { body: batch } = await reader.withKey('POST', '/notify/batch', {
      notifications: Array.from({ length: 150 }, () => item),
    });
    expect(batch.accepted).toBe(150);
    const open = () => {
      const socket = connect(Number(new URL(own.url).port), '127.0.0.1');
      socket.pause();
      socket.write(
        `GET /api/v1/events HTTP/1.1\r\nhost: herald\r\nauthorization: Bearer ${reader.token}\r\naccept: application/x-ndjson\r\n\r\n`,
      );
      return socket;
    };
    const ask = () => reader.dashboard('GET', '/events?limit=1', undefined, ndjson);
    const sockets = [open(), open()];
    await until(async () => (await ask()).status === 429, { what: 'both places taken' });
    const refused = await ask();
    expect([refused.body.code, refused.headers.get('retry-after')]).toEqual(['TOO_MANY_REQUESTS', '5']);
    // Its pages and another tenant's lines go on.
    expect((await reader.dashboard('GET', '/events?limit=1')).status).toBe(200);
    const beside = await own.tenant('beside');
    expect((await beside.dashboard('GET', '/events', undefined, ndjson)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await ask()).status === 200, { what: 'a place again' });
    await own.close();
  });

  it('end with their cursor when the time is up, and go on behind it', async () => {
    const own = await startApp({ delivers: false, options: { downloads: { timeMaxMs: 0 } } });
    const hurried = await own.tenant('hurried');
    await hurried.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x' });
    const { told, end } = linesOf(await hurried.dashboard('GET', '/events', undefined, ndjson));
    expect(told).toEqual([]);
    expect(end['nextCursor']).toEqual(expect.any(String));
    const cursor = String(end['nextCursor']);
    const { body } = await hurried.dashboard('GET', `/events?cursor=${cursor}&type=NotificationRequested`);
    expect(body.data).toHaveLength(1);
    await own.close();
  });
});

describe('the lines of a tenant whose numbers a flood of others shares', () => {
  /** Of others, in each partition before anything of the tenant's; to read past one takes a tenth of a ms of a clock that goes on by that alone. */
  const flood = 100_000;
  const passedMs = 0.1;
  let flooded: App;
  let one: Tenant;
  let now = 0;
  let passed = 0;

  beforeAll(async () => {
    flooded = await startApp({
      delivers: false,
      replace: ({ log, clock }) => ({
        clock: { ...clock, monotonic: () => now },
        log: {
          ...log,
          ends: async (topic) => (await log.ends(topic)).map((end) => (end === 0 ? 0 : end + flood)),
          async *read({ from, ...range }) {
            const behind: LogEntry[] = [];
            for await (const entry of log.read({ ...range, from: 0, to: Infinity })) behind.push(entry);
            const [one] = behind;
            if (one === undefined) return;
            const head = { type: 'NotificationRequested', eventId: 'e', tenantId: 'tnt_flooder' } as LogEntry['head'];
            for (let offset = from; offset < flood; offset++) {
              now += passedMs;
              passed++;
              yield { ...placeOf(one), offset, head, event: null, undecodable: null };
            }
            yield* behind.map(behindFlood).filter(({ offset }) => offset >= from);
          },
        },
      }),
    });
    one = await flooded.tenant('flooded');
    for (let i = 0; i < 12; i++) await one.notify({ channel: 'IN_APP', recipient: 'ada', body: `${i}` });
  });
  afterAll(() => flooded.close());

  const placeOf = ({ topic, partition, appendedAt, size }: LogEntry) => ({ topic, partition, appendedAt, size });
  const behindFlood = (entry: LogEntry): LogEntry => {
    const { offset, head, event, undecodable } = entry;
    return { ...placeOf(entry), offset: offset + flood, head, event, undecodable };
  };
  const ask = async (query: string) => {
    passed = 0;
    const { status, body, headers } = await one.dashboard(
      'GET',
      `/events?type=NotificationRequested${query}`,
      undefined,
      ndjson,
    );
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    return linesOf({ status, body, headers });
  };

  it('begin within 2 s whatever stands between, end with their cursor where nothing came, and come to the end by it', async () => {
    const bodies: unknown[] = [];
    let [cursor, answers, silent] = ['', 0, 0];
    for (let next: unknown = ''; next !== null; answers++) {
      const { told, end } = await ask(cursor);
      bodies.push(...told.map(({ request }) => (request as { readonly body: string }).body));
      if (told.length === 0) {
        silent++;
        // 2 s, and some that are looked at together.
        expect(passed).toBeLessThan(2_000 / passedMs + 100);
      }
      next = end['nextCursor'];
      cursor = `&cursor=${String(next)}`;
      expect(answers).toBeLessThan(20);
    }
    expect(bodies).toEqual(Array.from({ length: 12 }, (_, i) => `${i}`));
    expect(silent).toBeGreaterThan(1);
  });
});

it('a log that can’t be read is 503, as a page and as lines', async () => {
  const broken = await startApp({
    delivers: false,
    replace: ({ log }) => ({
      log: {
        ...log,
        read: () => ({
          [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('the disk is away')) }),
        }),
      },
    }),
  });
  const one = await broken.tenant('unlucky');
  await one.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x' });
  for (const headers of [{}, ndjson]) {
    const { status, body } = await one.dashboard('GET', '/events', undefined, headers);
    expect([status, body.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
  }
  await broken.close();
});

it('a cursor from before the log’s beginning goes on with what there is, and says so', async () => {
  let start = 0;
  const shortened = await startApp({
    delivers: false,
    replace: ({ log }) => ({
      log: {
        ...log,
        read: (range) => log.read({ ...range, from: Math.max(range.from, start) }),
        offsetAt: async (topic, partition, timeMs) =>
          Math.max(
            await log.offsetAt(topic, partition, timeMs),
            Math.min(start, (await log.ends(topic))[partition] ?? 0),
          ),
      },
    }),
  });
  const one = await shortened.tenant('of-long-ago');
  for (let i = 0; i < 20; i++) await one.notify({ channel: 'IN_APP', recipient: 'ada', body: `${i}` });
  const of = (query: string) => one.dashboard('GET', `/events?type=NotificationRequested&limit=3${query}`);
  const { body: first } = await of('');
  expect([first.data.length, first.hasGap]).toEqual([3, false]);
  expect((await of(`&cursor=${first.nextCursor}`)).body.hasGap).toBe(false);
  start = 10;
  const { body: later } = await of(`&cursor=${first.nextCursor}`);
  expect(later.hasGap).toBe(true);
  expect(later.data[0].request.body).toBe('10');
  expect((await of('')).body.hasGap).toBe(false);
  await shortened.close();
});

describe('a cursor', () => {
  const item = (i: number, more: object = {}) => ({ channel: 'IN_APP', recipient: 'ada', body: `${i}`, ...more });

  it('from beyond the end of a log that was put back goes on from that end, and says so once', async () => {
    let end = Infinity;
    const back = await startApp({
      delivers: false,
      replace: ({ log }) => ({
        log: {
          ...log,
          ends: async (topic) => (await log.ends(topic)).map((one) => Math.min(one, end)),
          read: (range) => log.read({ ...range, to: Math.min(range.to, end) }),
        },
      }),
    });
    const one = await back.tenant('put-back');
    for (let i = 0; i < 20; i++) await one.notify(item(i));
    const of = async (query: string) => (await one.dashboard('GET', `/events?type=NotificationRequested${query}`)).body;
    const before = await of('');
    expect(before.data).toHaveLength(20);
    end = 15;
    const after = await of(`&cursor=${before.endCursor}`);
    expect(after).toMatchObject({ data: [], nextCursor: null, hasGap: true });
    expect(await of(`&cursor=${after.endCursor}`)).toMatchObject({ data: [], hasGap: false });
    end = 18;
    const later = await of(`&cursor=${after.endCursor}`);
    expect(later.data.map(({ request }: Told) => (request as { body: string }).body)).toEqual(['15', '16', '17']);
    expect(later.hasGap).toBe(false);
    await back.close();
  });

  it('whose event is deleted says so, also where an older one that still waits is kept', async () => {
    const trimmed = await startApp({ delivers: false });
    const { log } = trimmed.deps;
    const one = await trimmed.tenant('waits');
    await one.notify(item(0, { sendAt: new Date(Date.now() + 3_600_000).toISOString() }));
    for (let i = 1; i <= 20; i++) await one.notify(item(i));
    const of = async (query: string) =>
      (await one.dashboard('GET', `/events?type=NotificationRequested&limit=3${query}`)).body;
    const first = await of('');
    const [topic = '', partition] = String(first.data[0].position).split(':');
    await log.trim({ topic, partition: Number(partition), from: 0, to: 16, kept: [0] });
    const later = await of(`&cursor=${first.nextCursor}`);
    expect([later.data[0].request.body, later.hasGap]).toEqual(['16', true]);
    expect((await of(`&cursor=${later.nextCursor}`)).hasGap).toBe(false);
    await trimmed.close();
  });

  it('at an event of a tenant that is erased by now has no gap: nothing is deleted, it is passed over', async () => {
    const shared = await startApp({ delivers: false });
    const { log } = shared.deps;
    const one = await shared.tenant('stays');
    const of = async (query: string) => (await one.dashboard('GET', `/events?type=NotificationRequested${query}`)).body;
    for (let i = 0; i < 3; i++) await one.notify(item(i));
    const [topic = '', partition] = String((await of('')).data[0].position).split(':');
    const place = { topic, partition: Number(partition) };
    const tenantId = 'tnt_goes' as TenantId;
    for await (const { event } of log.read({ ...place, from: 0, to: 1 }))
      if (event !== null) await log.append({ ...event, tenantId });
    await one.notify(item(3));
    const first = await of('&limit=3');
    await shared.commands.eraseTenant(tenantId);
    const { data, hasGap } = await of(`&cursor=${first.nextCursor}`);
    expect([data.map(({ request }: Told) => (request as { body: string }).body), hasGap]).toEqual([['3'], false]);
    // Its erasure goes on, and what the cursor stood at goes.
    await log.trim({ ...place, from: 3, to: 4, kept: [] });
    expect((await of(`&cursor=${first.nextCursor}`)).hasGap).toBe(true);
    await shared.close();
  });
});
