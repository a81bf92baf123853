// Looking back: a history with retries, cancels, sendAt, inbox reads, batches and suppressions is recorded while it runs; as of each of its quiet moments
// every GET answers what the service answered then.

import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { enginesContents } from '../support/engines-contents.ts';
import { embeddedOnly, engineSet } from '../support/engine-set.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald, makeDataDir, startHerald, token } from '../support/herald.ts';
import { type HttpSink, startHttpSink } from '../support/http-sink.ts';
import { type Answers, answersOf, type Asked, type Credentials, startLookBack } from '../support/look-back.ts';
import { askedAsNow, askedAsThen, getsOf, isOf, toldOtherwise } from '../support/look-back-routes.ts';
import { allRecords, isSearchLevel, statisticsOf } from '../support/records.ts';
import { until } from '../support/until.ts';

/** Each is a quiet moment that is looked back to. The promise is kept at 10 on real engines as well, where each start takes seconds: HERALD_TEST_MOMENTS=10. */
const moments = Number(process.env['HERALD_TEST_MOMENTS'] ?? (engineSet === 'embedded' ? 10 : 4));
/** Between two of them. */
const deeds = Number(process.env['HERALD_TEST_DEEDS'] ?? 12);
const seed = Number(process.env['HERALD_TEST_SEED'] ?? 7);

const people = ['ada', 'bob', 'grace hopper'];
/** Nothing is retried while it is looked at. */
const settings = { RETRY_DELAYS: '6h,6h' };

interface Recorded {
  readonly at: number;
  readonly asked: readonly Asked[];
  readonly answers: Answers;
}

let dataDir: DataDir;
let sink: HttpSink;
let service: Herald;
let credentials: Credentials;
let tenant: string;
let folder: string;
/** What was said to ada alone. */
const marker = `x${randomBytes(11).toString('hex')}`;
const recorded: Recorded[] = [];
const batches: string[] = [];
const jobs: string[] = [];
const templates: string[] = [];
const suppressed: string[] = [];

/** mulberry32. */
function createChance(state: number): (below: number) => number {
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

beforeAll(async () => {
  sink = await startHttpSink({
    respond({ path }, response) {
      if (path.startsWith('/broken')) response.writeHead(500).end();
      else if (path.startsWith('/gone')) response.writeHead(400).end('no such hook');
      else response.end('thanks');
    },
  });
  folder = await mkdtemp(join(tmpdir(), 'herald-look-back-'));
  dataDir = await makeDataDir();
  service = await startHerald(dataDir, settings);
  credentials = { apiKey: service.apiKey, token: await token(dataDir) };
  tenant = String((await service.dashboard('GET', '/tenant')).body['id']);
  const template = { name: 'welcome', channel: 'IN_APP', body: 'Welcome, {{ name }}' };
  const { body: made } = await expectStatus(service.dashboard('POST', '/templates', template), 201);
  templates.push(String(made['id']));
  await expectStatus(
    service.notify({ channel: 'IN_APP', recipient: 'ada', subject: 'Hello', body: `summer ${marker}` }),
    202,
  );
  const chance = createChance(seed);
  for (let moment = 0; moment < moments; moment++) {
    for (let deed = 0; deed < deeds; deed++) await doSomething(chance);
    recorded.push(await recordQuietly());
  }
}, 400_000);

afterAll(async () => {
  await service?.stop();
  await sink?.close();
  await rm(folder, { recursive: true, force: true });
  await dataDir?.remove();
}, 60_000);

async function expectStatus<A extends { readonly status: number; readonly body: unknown }>(
  answer: Promise<A>,
  ...statuses: readonly number[]
): Promise<A> {
  const { status, body } = await answer;
  if (!statuses.includes(status)) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return answer;
}

async function doSomething(chance: (below: number) => number): Promise<void> {
  const one = <T>(all: readonly T[]): T | undefined => all[chance(all.length)];
  const words = `moment ${chance(50)} of ${one(['summer', 'winter', 'spring']) ?? ''}`;
  const metadata = { order: String(chance(4)) };
  const recipient = one(people);
  const hook = (path: string) => ({ channel: 'WEBHOOK', recipient: `${sink.url}/${path}`, body: words, metadata });
  const inApp = { channel: 'IN_APP', recipient, subject: 'Hello', body: words, metadata };
  const post = (body: object) => expectStatus(service.notify(body), 202);
  const idsOf = async (...statuses: readonly string[]) =>
    (await allRecords(service)).filter(({ status }) => statuses.includes(status)).map(({ id }) => id);
  const keyed = { headers: { 'x-api-key': service.apiKey } };
  switch (chance(11)) {
    case 0:
      return void (await post(hook(`ok/${chance(9)}`)));
    case 1:
      return void (await post(hook(`broken/${chance(9)}`)));
    case 2:
      return void (await post({ ...hook(`gone/${chance(9)}`), priority: 'HIGH' }));
    case 3:
      return void (await post({ ...inApp, sendAt: new Date(Date.now() + 86_400_000).toISOString() }));
    case 4: {
      const id = one(await idsOf('SCHEDULED', 'RETRYING'));
      // It may wait for its turn, or have gone on since.
      if (id !== undefined) await expectStatus(service.dashboard('POST', `/notifications/${id}/cancel`), 200, 409, 503);
      return;
    }
    case 5: {
      const id = one(await idsOf('FAILED'));
      if (id !== undefined) await expectStatus(service.dashboard('POST', `/notifications/${id}/retry`), 202, 409);
      return;
    }
    case 6:
      await expectStatus(
        service.call('POST', `/api/v1/notify/inapp/${encodeURIComponent(recipient ?? '')}/read`, keyed),
        200,
      );
      return;
    case 7: {
      const notifications = Array.from({ length: 5 }, (_, i) => (i === 4 ? hook('gone/batch') : inApp));
      const { body } = await expectStatus(
        service.call('POST', '/api/v1/notify/batch', { ...keyed, body: { notifications } }),
        202,
      );
      batches.push(String(body['batchId']));
      return;
    }
    case 8: {
      const batch = one(batches);
      if (batch === undefined) return;
      const { body } = await expectStatus(service.call('POST', `/api/v1/notify/batch/${batch}/retry`, keyed), 202, 409);
      if (typeof body['jobId'] === 'string') jobs.push(body['jobId']);
      return;
    }
    case 9: {
      const known = one(suppressed);
      if (known !== undefined && chance(2) === 0) {
        await expectStatus(service.dashboard('DELETE', `/suppressions/${known}`), 200, 404);
        return;
      }
      const entry = { channel: 'EMAIL', recipient: `person${chance(9)}@example.com` };
      const { body } = await expectStatus(service.dashboard('POST', '/suppressions', entry), 200, 201);
      suppressed.push(String(body['id']));
      return;
    }
    default:
      await post({ channel: 'IN_APP', recipient, template: 'welcome', data: { name: words }, metadata });
  }
}

/** Every GET that says something, of whatever there is by then. */
async function everyGet(): Promise<readonly Asked[]> {
  return askedAsThen({ ids: (await allRecords(service)).map(({ id }) => id), batches, people });
}

const ofSettings = (): readonly Asked[] => askedAsNow({ jobs, templates });

/** Once nothing goes on any more: the moment, and what was answered then. */
async function recordQuietly(): Promise<Recorded> {
  await until(
    async () => {
      const { QUEUED, PROCESSING } = (await statisticsOf(service)).statusCounts;
      const running = await answersOf(service.url, ofSettings(), credentials);
      const areOver = [...running.values()].every(({ body }) => !['queued', 'running'].includes(stateOf(body)));
      return QUEUED === 0 && PROCESSING === 0 && areOver && (await isFolded()) && (await isSearchLevel(service));
    },
    { timeoutMs: 60_000, everyMs: 100, what: 'everything to be settled' },
  );
  return until(
    async () => {
      const begun = Date.now();
      const asked = await everyGet();
      const answers = await answersOf(service.url, asked, credentials);
      // What came before it is in both, and what comes after it in neither.
      const at = Date.now();
      const again = await answersOf(service.url, asked, credentials);
      const isSameMinute = Math.floor(begun / 60_000) === Math.floor(Date.now() / 60_000);
      const isQuiet = textOf(answers) === textOf(again) && isSameMinute && (await isFolded());
      return isQuiet ? { at, asked, answers } : null;
    },
    { timeoutMs: 60_000, everyMs: 200, what: 'a quiet moment' },
  );
}

function stateOf(body: unknown): string {
  return String((body as { readonly state?: string }).state);
}

/** As the service's own metrics say it. */
async function isFolded(): Promise<boolean> {
  const text = await (await fetch(`${service.operationsUrl}/metrics`)).text();
  const lags = [...text.matchAll(/^herald_projector_lag\{[^}]*\} (\S+)$/gm)].map(([, lag]) => Number(lag));
  return lags.length >= 3 && lags.every((lag) => lag === 0);
}

const textOf = (answers: Answers): string => JSON.stringify([...answers]);

function expectSame(found: Answers, wanted: Answers): void {
  for (const [path, answer] of wanted)
    expect([path, inOneOrder(path, found.get(path))]).toEqual([path, inOneOrder(path, answer)]);
  expect(found.size).toBe(wanted.size);
}

interface Listed {
  readonly status: number;
  readonly body: { readonly data: readonly { readonly id: string; readonly createdAt: string }[] };
}

/** What a search finds of one millisecond comes in an order of the store's own, and a look-back's store is SQLite whatever the service's is. */
function inOneOrder(path: string, answer: unknown): unknown {
  if (engineSet === 'embedded' || !/[?&](?:q|recipientPrefix|metadata\.\w+)=/.test(path)) return answer;
  const { status, body } = answer as Listed;
  const byTime = (a: Listed['body']['data'][number], b: typeof a) =>
    a.createdAt === b.createdAt ? a.id.localeCompare(b.id) : b.createdAt.localeCompare(a.createdAt);
  return { status, body: { ...body, data: body.data.toSorted(byTime) } };
}

const at = (moment: number): Recorded => {
  const found = recorded[moment];
  if (found === undefined) throw new Error(`there is no moment ${moment}`);
  return found;
};
const isoOf = (moment: number) => new Date(at(moment).at).toISOString();

describe('looking back', () => {
  it('answers every GET as the service did, as of each of its quiet moments', async () => {
    for (const { at: asOf, asked, answers } of recorded) {
      const lookBack = await startLookBack(dataDir, asOf, { environment: settings });
      try {
        const said = new Set<string | null>();
        const again = await answersOf(lookBack.url, asked, credentials, (_path, headers) =>
          said.add(headers.get('x-as-of')),
        );
        expectSame(again, answers);
        expect([...said]).toEqual([new Date(asOf).toISOString()]);
        // A cursor of the one is a cursor of the other.
        const page = answers.get('/notifications?limit=7')?.body as { pagination: { nextCursor: string | null } };
        expect(page.pagination.nextCursor === null).toBe(false);
      } finally {
        expect(await lookBack.stop()).toBe(0);
      }
    }
    expect(recorded).toHaveLength(moments);
    expect(new Set(recorded.map(({ answers }) => textOf(answers))).size).toBe(moments);
  }, 600_000);

  it('has every GET of the document among those answers, or another word for it', async () => {
    const document: unknown = await (await fetch(`${service.url}/openapi.json`)).json();
    const gets = getsOf(document);
    const answered = recorded.flatMap(({ answers }) =>
      [...answers].flatMap(([path, { status }]) => (status === 200 ? [path] : [])),
    );
    const missing = gets.filter((get) => !(get in toldOtherwise) && !answered.some((path) => isOf(get, path)));
    expect(gets.length).toBeGreaterThan(Object.keys(toldOtherwise).length + 9);
    expect(missing).toEqual([]);
    const lookBack = await startLookBack(dataDir, at(0).at, { environment: settings });
    try {
      for (const [get, { told }] of Object.entries(toldOtherwise)) {
        const id = get.startsWith('/templates') ? templates[0] : jobs[0];
        const path = get
          .replace('{userId}', 'ada')
          .replace('{version}', '1')
          .replace('{id}', id ?? 'none');
        const headers = get.startsWith('/notify')
          ? { 'x-api-key': credentials.apiKey }
          : { authorization: `Bearer ${credentials.token}` };
        const response = await fetch(`${lookBack.url}/api/v1${path}`, { headers });
        const body = (await response.json()) as { readonly code?: string; readonly data?: readonly unknown[] };
        if (told === 'refused') expect([get, response.status, body.code]).toEqual([get, 409, 'READ_ONLY']);
        else expect([get, response.status]).toEqual([get, get === '/jobs/{id}' && jobs.length === 0 ? 404 : 200]);
        if (told === 'empty') expect([get, body.data]).toEqual([get, []]);
        expect([get, response.headers.has('x-settings-as-of')]).toEqual([get, told === 'as now' && response.ok]);
      }
    } finally {
      await lookBack.stop();
    }
  }, 60_000);

  it('shows the settings as they are, and says so; refuses every write and each stream, and says why', async () => {
    const lookBack = await startLookBack(dataDir, at(0).at, { environment: settings });
    try {
      const settingsTold = new Set<boolean>();
      const shown = await answersOf(lookBack.url, ofSettings(), credentials, (_path, headers) =>
        settingsTold.add(headers.has('x-settings-as-of')),
      );
      expect([...shown]).toEqual([...(await answersOf(service.url, ofSettings(), credentials))]);
      expect([...settingsTold]).toEqual([true]);
      const bearer = { authorization: `Bearer ${credentials.token}` };
      const keyed = { 'x-api-key': credentials.apiKey };
      for (const [method, path, headers] of [
        ['POST', '/api/v1/notify', keyed],
        ['POST', '/v1/notify', keyed],
        ['POST', '/api/v1/notify/batch', keyed],
        ['POST', '/api/v1/notify/inapp/ada/read', keyed],
        ['POST', '/api/v1/auth/provision-tenant', bearer],
        ['POST', '/api/v1/providers', bearer],
        ['DELETE', '/api/v1/templates/tpl_1', bearer],
        ['POST', '/api/v1/unsubscribe/token', {}],
        ['POST', '/api/v1/callbacks/ses/token', {}],
        ['GET', '/api/v1/dashboard/stream', bearer],
        ['GET', '/api/v1/notify/inapp/ada/stream', keyed],
        ['GET', '/api/v1/providers/catalog', bearer],
      ] as const) {
        const response = await fetch(`${lookBack.url}${path}`, { method, headers });
        const body = (await response.json()) as { code: string; error: string };
        expect([path, response.status, body.code]).toEqual([path, 409, 'READ_ONLY']);
        expect(body.error).toContain(isoOf(0));
        expect(response.headers.get('x-as-of')).toBe(isoOf(0));
      }
      const unknown = await fetch(`${lookBack.url}/api/v1/notify`, {
        method: 'POST',
        headers: { 'x-api-key': 'nk_no' },
      });
      expect([unknown.status, unknown.headers.get('x-as-of')]).toEqual([401, isoOf(0)]);
    } finally {
      await lookBack.stop();
    }
  }, 60_000);

  it('is kept where that is asked for, opened again without folding, and refused where it isn’t what was asked for', async () => {
    const kept = join(folder, 'kept');
    const first = await startLookBack(dataDir, at(2).at, { args: ['--keep', kept] });
    expect(first.logs()).toContain('events folded');
    await first.stop();
    const again = await startLookBack(dataDir, at(2).at, { args: ['--keep', kept] });
    expect(again.logs()).not.toContain('folded');
    const asked = at(2).asked;
    expectSame(await answersOf(again.url, asked, credentials), at(2).answers);
    await again.stop();

    const other = await herald(['stats', '--as-of', isoOf(1), '--tenant', tenant, '--keep', kept], dataDir.environment);
    expect(other).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`as of ${isoOf(2)}, not as of ${isoOf(1)}`),
    });
    const note = readFileSync(join(kept, 'as-of.json'), 'utf8');
    writeFileSync(join(kept, 'as-of.json'), note.replace(/"version": "[^"]*"/, '"version": "0.0.1"'));
    const older = await herald(['stats', '--as-of', isoOf(2), '--tenant', tenant, '--keep', kept], dataDir.environment);
    expect(older).toMatchObject({ code: 1, stderr: expect.stringContaining('was folded by Herald 0.0.1') });
    expect(older.stderr).not.toContain('    at ');
    writeFileSync(join(kept, 'as-of.json'), note);

    const strange = join(folder, 'strange');
    mkdirSync(strange);
    writeFileSync(join(strange, 'thesis.txt'), 'years of work');
    const refused = await herald(
      ['stats', '--as-of', isoOf(2), '--tenant', tenant, '--keep', strange],
      dataDir.environment,
    );
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('holds other files (thesis.txt)') });
    expect(existsSync(join(strange, 'thesis.txt'))).toBe(true);
    const thesis = join(strange, 'thesis.txt');
    expect(
      await herald(['stats', '--as-of', isoOf(2), '--tenant', tenant, '--keep', thesis], dataDir.environment),
    ).toMatchObject({ code: 1, stdout: '', stderr: `${thesis} is not a folder. Name a folder of its own.\n` });
  }, 120_000);

  embeddedOnly(
    'prints one statistic without a server, and leaves no folder behind',
    async () => {
      const temporary = join(folder, 'temporary');
      mkdirSync(temporary);
      const environment = { ...dataDir.environment, TMPDIR: temporary };
      const args = ['--as-of', isoOf(3), '--tenant', tenant, '--range', '24h', '--by', 'hour', '--channel', 'webhook'];
      const { code, stdout } = await herald(['stats', ...args], environment);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toEqual(at(3).answers.get('/dashboard/stats?range=24h&by=hour&channel=WEBHOOK')?.body);
      expect(readdirSync(temporary).filter((name) => name.startsWith('herald'))).toEqual([]);
    },
    60_000,
  );

  it('compares: equal with what is in use and with what was kept, and by field and count where something differs', async () => {
    const last = moments - 1;
    const equal = await herald(['compare', '--as-of', isoOf(last), '--with', 'live'], dataDir.environment);
    expect([equal.code, equal.stderr]).toEqual([0, expect.stringContaining('compare: equal')]);
    const kept = await herald(['compare', '--as-of', isoOf(2), '--with', join(folder, 'kept')], dataDir.environment);
    expect([kept.code, kept.stderr]).toEqual([0, expect.stringContaining('compare: equal')]);
    const two = await herald(['compare', '--as-of', isoOf(2), '--with', isoOf(last)], dataDir.environment);
    expect(two.code).toBe(1);
    expect(two.stdout).toMatch(/statistics_\d+: \d+ and \d+ documents, [1-9]\d* differ\n(?:.*\n)*? {2}counts: [1-9]/);
    expect(two.stdout).toMatch(/inbox_recipients: .*\n(?:.*\n)*? {2}total: \d/);
    for (const told of ['Hello', 'summer', 'grace hopper', credentials.apiKey]) expect(two.stdout).not.toContain(told);
  }, 180_000);

  embeddedOnly(
    'says in a sentence what is wrong with what was asked for',
    async () => {
      const ahead = new Date(Date.now() + 3_600_000).toISOString();
      for (const [args, said] of [
        [['serve', '--as-of', 'Tuesday'], '--as-of: should be an ISO 8601 time'],
        [['serve', '--as-of', ahead], '--as-of: lies ahead of now'],
        [['serve', '--as-of', isoOf(0), '--role', 'api'], '--role: goes without --as-of'],
        [['serve', '--keep', folder], '--keep: goes with --as-of'],
        [['stats', '--as-of', isoOf(0)], '--tenant: name the tenant'],
        [['stats', '--as-of', isoOf(0), '--tenant', tenant, '--range', 'week'], '--range: '],
        [['compare', '--as-of', isoOf(0)], '--with: name another time, live'],
      ] as const) {
        const { code, stderr } = await herald(args, dataDir.environment);
        expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(said)]);
      }
      const nothing = await herald(
        ['compare', '--as-of', isoOf(0), '--with', join(folder, 'none')],
        dataDir.environment,
      );
      expect(nothing).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('holds no look-back that is complete'),
      });
    },
    60_000,
  );

  it('changes nothing of what the service keeps', async () => {
    await service.stop();
    const before = contentsOf(dataDir.path);
    const enginesBefore = engineSet === 'real' ? await enginesContents(dataDir.environment) : '';
    const { code } = await herald(['compare', '--as-of', isoOf(1), '--with', isoOf(1)], dataDir.environment);
    const lookBack = await startLookBack(dataDir, at(1).at);
    await answersOf(lookBack.url, at(1).asked, credentials);
    await lookBack.stop();
    const after = contentsOf(dataDir.path);
    expect(code).toBe(0);
    if (engineSet === 'real') expect(await enginesContents(dataDir.environment)).toBe(enginesBefore);
    expect(before.size).toBeGreaterThan(engineSet === 'embedded' ? 4 : 0);
    for (const [name, hash] of before) expect([name, after.get(name)]).toEqual([name, hash]);
    service = await startHerald(dataDir, settings);
    expect((await statisticsOf(service)).total).toBe((await allRecords(service)).length);
  }, 120_000);

  it('shows of an erased recipient nothing as of any moment, and everything else as it was', async () => {
    const { at: asOf, asked, answers } = at(moments - 1);
    expect(textOf(answers)).toContain(marker);
    const folded = join(folder, 'before-erasure');
    const running = await startLookBack(dataDir, asOf, { environment: settings, args: ['--keep', folded] });
    const { body } = await expectStatus(service.dashboard('DELETE', '/recipients/in-app/ada'), 202);
    // What was folded before it holds it still: it ends by itself, and isn't opened again.
    await until(() => running.exitCode() !== null, { timeoutMs: 30_000, what: 'the look-back to end by itself' });
    expect([running.exitCode(), running.logs()]).toEqual([
      1,
      expect.stringContaining('A recipient or a tenant was erased since'),
    ]);
    const again = await herald(
      ['stats', '--as-of', isoOf(moments - 1), '--tenant', tenant, '--keep', folded],
      dataDir.environment,
    );
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('before a recipient or a tenant was erased'),
    });
    const job = `/jobs/${String(body['jobId'])}`;
    await until(async () => (await service.dashboard('GET', job)).body['state'] === 'done', {
      timeoutMs: 60_000,
      what: 'the erasing',
    });

    const lookBack = await startLookBack(dataDir, asOf, { environment: settings });
    try {
      const found = await answersOf(lookBack.url, asked, credentials);
      expect(textOf(found)).not.toContain(marker);
      expect([...found].filter(([, { status }]) => status === 503)).toEqual([]);
      const isAdas = ({ body: of }: { readonly body: unknown }) => JSON.stringify(of).includes('"recipient":"ada"');
      let [others, adas] = [0, 0];
      for (const [path, answer] of answers) {
        const isCounted = path.startsWith('/dashboard/') || path.startsWith('/notify/batch/');
        if (isCounted || (/^\/notif(?:y|ications)\/notif_[a-z0-9]+$/.test(path) && !isAdas(answer))) {
          others++;
          expect([path, found.get(path)]).toEqual([path, answer]);
        } else if (isAdas(answer) && /^\/notifications\/notif_[a-z0-9]+$/.test(path)) {
          adas++;
          expect(found.get(path)?.body).toMatchObject({ notification: { recipient: '', body: '', metadata: {} } });
        }
      }
      expect(others).toBeGreaterThan(10);
      expect(adas).toBeGreaterThan(0);
      expect(found.get('/notify/inapp/ada')?.body).toMatchObject({ notifications: [], unreadCount: 0 });
    } finally {
      await lookBack.stop();
    }
    const counted = await herald(['stats', '--as-of', isoOf(moments - 1), '--tenant', tenant], dataDir.environment);
    expect([counted.code, counted.stdout]).toEqual([0, expect.not.stringContaining(marker)]);
    // Also beside what was kept and holds it still: a comparison tells fields and counts.
    for (const other of ['live', folded]) {
      const asked = ['compare', '--as-of', isoOf(moments - 1), '--with', other];
      const { code, stdout, stderr } = await herald(asked, dataDir.environment);
      expect([other, code]).toEqual([other, 1]);
      for (const told of [marker, '"ada"', ' ada '])
        expect([other, (stdout + stderr).includes(told)]).toEqual([other, false]);
    }
  }, 120_000);

  it('shows what the log still tells once retention has taken the rest, and says that something is gone', async () => {
    // Kafka can lose a topic's beginning alone, up to the first event that waits: there nothing does.
    if (engineSet === 'real') await cancelAll();
    await service.stop();
    service = await startHerald(dataDir, { ...settings, RETENTION: '10s' });
    const { at: asOf, asked, answers } = at(moments - 1);
    const ended = ['DELIVERED', 'FAILED', 'CANCELLED'];
    const waits = (path: string) => {
      const { notification } = (answers.get(path)?.body ?? {}) as {
        notification?: { id: string; status: string; recipient: string };
      };
      return notification !== undefined && !ended.includes(notification.status) && notification.recipient !== 'ada';
    };
    const waiting = asked.filter(
      ({ path }) => engineSet === 'embedded' && path.startsWith('/notifications/') && waits(path),
    );
    // The records first, then the log's bytes.
    const left = async () => (await allRecords(service)).filter(({ status }) => ended.includes(status)).length;
    await until(async () => (await left()) === 0, {
      timeoutMs: 60_000,
      everyMs: 200,
      what: 'what has ended to be forgotten',
    });
    const [one] = recorded[0]?.asked.filter(({ path }) => path.endsWith('/attempts')) ?? [];
    const inLog = async () =>
      ((await service.dashboard('GET', `/events?type=AttemptSucceeded`)).body['data'] as unknown[]).length;
    await until(async () => (await inLog()) === 0, {
      timeoutMs: 60_000,
      everyMs: 200,
      what: 'its events to be deleted',
    });
    const lookBack = await startLookBack(dataDir, asOf, { environment: settings });
    try {
      expect(lookBack.logs()).toMatch(/[1-9]\d* more, which the log had then, are deleted: what they told isn't shown/);
      const found = await answersOf(lookBack.url, [...waiting, ...(one === undefined ? [] : [one])], credentials);
      for (const { path } of waiting) expect([path, found.get(path)]).toEqual([path, answers.get(path)]);
      expect(found.get(one?.path ?? '')?.status).toBe(404);
    } finally {
      await lookBack.stop();
    }
  }, 240_000);
});

async function cancelAll(): Promise<void> {
  for (const { id, status } of await allRecords(service))
    if (status === 'SCHEDULED' || status === 'RETRYING')
      await until(async () => (await service.dashboard('POST', `/notifications/${id}/cancel`)).status !== 503, {
        timeoutMs: 30_000,
        what: `${id} to be cancelled`,
      });
}

/** SHA-256 by name. SQLite's own files beside a database, which readers make as well, hold nothing of a service that is stopped. */
function contentsOf(path: string): ReadonlyMap<string, string> {
  const names = readdirSync(path).filter((name) => !/-(?:shm|wal)$/.test(name));
  return new Map(
    names.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(path, name)))
        .digest('hex'),
    ]),
  );
}
