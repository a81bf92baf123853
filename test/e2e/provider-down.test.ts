// A provider that goes down, over all processes: what waits for it burns no attempts, a fallback takes over, and the first takes it back. For a minute of it:
//
//   E2E_OUTAGE_SECONDS=60 npm test -- test/e2e/provider-down     and with `npm run test:real --`

import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';

import { engineSet } from '../support/engine-set.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { inParallel } from '../support/posting.ts';
import type { TestTenant } from '../support/provisioning.ts';
import { createProvisioner } from '../support/provisioning.ts';
import { until } from '../support/until.ts';

/** At least: an outage lasts until what the test waits for has been seen as well. */
const outageMs = Number(process.env['E2E_OUTAGE_SECONDS'] ?? '3') * 1000;
const processes = engineSet === 'embedded' ? 1 : 2;
/** Failures in a row that open a breaker: beside another provider, and alone. Each process has its own. */
const [opensBesideOther, opensAlone] = [3, 10];
/** In flight of a tenant and provider: begun before the last failure that opens the breaker was known. */
const inFlightMax = 32;
const betweenMs = 50;
/** A tenant has so many at once. */
const readsAtOnce = 4;
const sender = { fromName: 'Shop', fromEmail: 'shop@example.com' };

interface Attempt {
  readonly role: string;
  readonly status: string;
  readonly errorClass: string | null;
}

let dataDir: DataDir;
let services: Herald[];
let resend: HttpSink;
let sendgrid: HttpSink;
let isDown = false;
/** Of the first provider; `key` is the notification's. */
let calls: { readonly failed: boolean; readonly key: string }[];
let tenant: TestTenant;
let provisioner: Awaited<ReturnType<typeof createProvisioner>>;

beforeAll(async () => {
  dataDir = await makeDataDir();
  resend = await startHttpSink({
    respond({ headers }, response) {
      calls.push({ failed: isDown, key: String(headers['idempotency-key']) });
      response
        .writeHead(isDown ? 503 : 200, { 'content-type': 'application/json' })
        .end(
          isDown
            ? '{"name":"internal_server_error","message":"down"}'
            : '{"id":"4ef9a417-02e9-4d39-ad75-9611e0fcc33c"}',
        );
    },
  });
  sendgrid = await startHttpSink({
    respond: (_, response) => response.writeHead(202, { 'x-message-id': 'sg-1' }).end(),
  });
  const settings = {
    OUTBOUND_ALLOW: '127.0.0.1/32',
    PROVIDER_URLS: JSON.stringify({ resend: resend.url, sendgrid: sendgrid.url }),
    RATE_LIMIT: '1000000/10s',
    // Ten retries within what no test takes: none is given up, and one that failed comes back soon.
    RETRY_DELAYS: Array.from({ length: 10 }, (_, i) => (i < 9 ? '1s' : '1h')).join(','),
  };
  services = [await startHerald(dataDir, settings)];
  while (services.length < processes) services.push(await startHerald(dataDir, settings));
  provisioner = await createProvisioner(dataDir, service());
}, 180_000);
afterAll(async () => {
  await Promise.all(services.map((one) => one.stop()));
  await Promise.all([resend.close(), sendgrid.close()]);
  await dataDir.remove();
}, 60_000);
beforeEach(async () => {
  isDown = false;
  calls = [];
  sendgrid.requests.length = 0;
  tenant = await provisioner.tenant();
});

it('with a fallback each is delivered at once: by the other after three failures, by the first again when it is up', async () => {
  await save({ provider: 'resend', apiKey: 're_0123456789abcdef' });
  await save({ provider: 'sendgrid', apiKey: 'SG.0123456789abcdef', role: 'fallback' });
  await delivered(await mail());
  expect([calls.length, sendgrid.requests.length]).toEqual([1, 0]);

  const down = beginOutage();
  const ids: string[] = [];
  // One at a time: of those in flight together each may fail before the breaker knows.
  while (ids.length < 20 || down.lastedMs() < outageMs) {
    const id = await mail();
    await delivered(id);
    ids.push(id);
    await sleep(betweenMs);
  }
  down.end();
  const attempts = await attemptsOfAll(ids);
  const failed = attempts.filter(({ status }) => status === 'FAILED');
  expect(failed.length).toBeGreaterThanOrEqual(opensBesideOther);
  expect(failed.length).toBeLessThanOrEqual(processes * opensBesideOther + down.probesMax());
  expect(failed.filter(({ role }) => role !== 'primary')).toEqual([]);
  expect(attempts.filter(({ role }) => role === 'fallback')).toHaveLength(ids.length);

  // Both numbers of the tenant have made a probe by then, whichever process has them.
  let inARow = 0;
  await until(
    async () => {
      const [only] = await delivered(await mail());
      inARow = only?.role === 'primary' ? inARow + 1 : 0;
      return inARow >= 10;
    },
    { timeoutMs: 300_000, what: 'the first provider to have it back' },
  );
  await until(async () => (await breakers())['primary'] === 'closed', { timeoutMs: 60_000, what: 'a closed breaker' });
}, 600_000);

it('alone it is called by a few and by probes; all others wait unbegun, and are sent when it is up', async () => {
  await save({ provider: 'resend', apiKey: 're_0123456789abcdef' });
  const down = beginOutage();
  const ids = await Promise.all(Array.from({ length: 300 }, () => mail()));
  const opened = async () => (await breakers())['primary'] !== 'closed';
  await until(opened, { timeoutMs: 60_000, what: 'an open breaker' });
  await until(() => down.lastedMs() > outageMs && calls.length >= opensAlone + 1, { timeoutMs: outageMs + 60_000 });
  down.end();
  await until(async () => (await statusCounts())['DELIVERED'] === ids.length, {
    timeoutMs: 120_000,
    what: 'all of them',
  });
  const attempts = await attemptsOfAll(ids);
  const failed = attempts.filter(({ status }) => status === 'FAILED').length;
  expect(failed).toBeLessThanOrEqual(processes * (opensAlone - 1 + inFlightMax) + down.probesMax());
  expect(attempts).toHaveLength(ids.length + failed);
  expect(taken().size).toBe(ids.length);
}, 600_000);

it('what expires meanwhile ends without one more attempt, and what is cancelled is never sent', async () => {
  await save({ provider: 'resend', apiKey: 're_0123456789abcdef' });
  beginOutage();
  const opening = await Promise.all(Array.from({ length: 80 }, () => mail()));
  await until(async () => (await breakers())['primary'] !== 'closed', { timeoutMs: 60_000, what: 'an open breaker' });
  const waiting = await Promise.all(Array.from({ length: 40 }, () => mail({ ttlSeconds: 2 })));
  const dated = await mail({ sendAt: inMs(1000), ttlSeconds: 1 });
  const lasting = await Promise.all(Array.from({ length: 10 }, () => mail({ ttlSeconds: 3600 })));
  const scheduled = await Promise.all(Array.from({ length: 10 }, () => mail({ sendAt: inMs(600_000) })));
  for (const id of [...waiting, dated]) {
    await ends(id, 'FAILED');
    const attempts = await attemptsOf(id);
    // A probe may have been made by it.
    expect(attempts.map(({ errorClass }) => errorClass)).toEqual([
      ...attempts.slice(1).map(() => 'provider'),
      'expired',
    ]);
  }
  const answers = await cancel([...scheduled, ...opening]);
  for (const id of scheduled) await ends(id, 'CANCELLED');
  // The provider is away still: what was taken for a cancel (503: not decided in time) is decided all the same.
  const stopped = opening.filter((id) => answers.get(id) !== 409);
  expect(stopped.length).toBeGreaterThan(0);
  for (const id of stopped) await ends(id, 'CANCELLED');
  isDown = false;
  await holdsFor([...opening, ...scheduled], answers);
  for (const id of lasting) await ends(id, 'DELIVERED');
  const all = [...opening, ...lasting];
  const statuses: unknown[] = [];
  for (const id of all) statuses.push((await recordOf(id))['status']);
  expect(taken().size).toBe(statuses.filter((status) => status === 'DELIVERED').length);
}, 600_000);

it('a cancel that comes as its notification is due: either it is cancelled and never sent, or it is sent once', async () => {
  await save({ provider: 'resend', apiKey: 're_0123456789abcdef' });
  const ids = await Promise.all(Array.from({ length: 60 }, (_, i) => mail({ sendAt: inMs(2000 + i * 25) })));
  await until(async () => calls.length > 0, { timeoutMs: 60_000, what: 'the first of them to be sent' });
  const answers = await cancel(ids);
  const sent = await holdsFor(ids, answers);
  expect(taken().size).toBe(sent.length);
}, 600_000);

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

/** By each process in turn, those that are due first at last; what was answered to each. What a busy machine didn't decide in time is asked once more. */
async function cancel(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const answers = new Map<string, number>();
  await inParallel(ids.toReversed(), readsAtOnce, async (id, i) => {
    let answer = 503;
    for (let asked = 0; asked < 2 && answer === 503; asked++) {
      ({ status: answer } = await dashboard('POST', `/notifications/${id}/cancel`, undefined, services[i % processes]));
      expect([200, 409, 503]).toContain(answer);
      // Whatever a later one is told, the first may have been the one that cancelled it.
      answers.set(id, answers.get(id) ?? answer);
    }
  });
  return answers;
}

/** What a cancel has answered is how it ends: 200 is cancelled, 409 is sent, 503 either of them. Resolves with those that were sent. */
async function holdsFor(ids: readonly string[], answers: ReadonlyMap<string, number>): Promise<readonly string[]> {
  const sent: string[] = [];
  for (const id of ids) {
    const status = await until(
      async () => {
        const { status: now } = await recordOf(id);
        return (now === 'DELIVERED' || now === 'CANCELLED') && now;
      },
      { timeoutMs: 120_000, what: `${id} to end` },
    );
    if (answers.get(id) === 200) expect(status).toBe('CANCELLED');
    if (answers.get(id) === 409) expect(status).toBe('DELIVERED');
    if (status === 'DELIVERED') sent.push(id);
  }
  return sent;
}

/** Those that the first provider has taken, once each: a process that is busy may send one again, under its key. */
const taken = () => new Set(calls.filter(({ failed }) => !failed).map(({ key }) => key));

/** Until `end`. */
function beginOutage() {
  isDown = true;
  const since = performance.now();
  let lastedMs = 0;
  return {
    lastedMs: () => performance.now() - since,
    end() {
      isDown = false;
      lastedMs = performance.now() - since;
    },
    /** After 1, 2, 4, ... s at the earliest, of each process. */
    probesMax: () => processes * Math.ceil(Math.log2(lastedMs / 1000 + 1)),
  };
}

function service(): Herald {
  const [first] = services;
  if (first === undefined) throw new Error('no process runs');
  return first;
}

let posts = 0;

/** By each process in turn. */
async function mail(more: object = {}): Promise<string> {
  const by = services[posts++ % processes] ?? service();
  const body = { channel: 'EMAIL', recipient: 'ada@example.com', subject: 's', body: 'b', ...more };
  const answer = await by.notify(body, tenant.apiKey);
  expect(answer.status).toBe(202);
  return String(answer.body['notificationId']);
}

async function save(provider: object): Promise<void> {
  const body = { channel: 'EMAIL', config: sender, enabled: true, ...provider };
  expect((await dashboard('POST', '/providers', body)).status).toBe(200);
}

function dashboard(method: string, path: string, body?: unknown, by = service()) {
  const headers = { authorization: `Bearer ${tenant.bearer}` };
  return by.call(method, `/api/v1${path}`, { headers, ...(body === undefined ? {} : { body }) });
}

async function breakers(): Promise<Record<string, string>> {
  const listed = (await dashboard('GET', '/providers')).body as unknown as { role: string; breaker: string }[];
  return Object.fromEntries(listed.map(({ role, breaker }) => [role, breaker]));
}

async function statusCounts(): Promise<Record<string, number>> {
  return (await dashboard('GET', '/dashboard/stats?range=all')).body['statusCounts'] as Record<string, number>;
}

async function recordOf(id: string): Promise<Record<string, unknown>> {
  return ((await dashboard('GET', `/notifications/${id}`)).body['notification'] ?? {}) as Record<string, unknown>;
}

async function attemptsOf(id: string): Promise<readonly Attempt[]> {
  return (await dashboard('GET', `/notifications/${id}/attempts`)).body['attempts'] as Attempt[];
}

async function attemptsOfAll(ids: readonly string[]): Promise<readonly Attempt[]> {
  const all: Attempt[] = [];
  await inParallel(ids, readsAtOnce, async (id) => void all.push(...(await attemptsOf(id))));
  return all;
}

async function ends(id: string, status: string): Promise<void> {
  const what = `${id} to be ${status}`;
  await until(async () => (await recordOf(id))['status'] === status, { timeoutMs: 120_000, everyMs: 20, what });
}

async function delivered(id: string): Promise<readonly Attempt[]> {
  await ends(id, 'DELIVERED');
  return attemptsOf(id);
}
