// A backup that is made while the service takes notifications, and what a copy of it does with what was to be sent.

import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { recordOf } from '../support/records.ts';
import { until } from '../support/until.ts';

let dataDir: DataDir;
let folder: string;
let sink: HttpSink;
let original: Herald;
let copy: Herald | null = null;
let suppressed: Readonly<Record<string, unknown>>;
/** Answers that are kept back: their notifications are in flight. */
const unanswered: ServerResponse[] = [];
const made: DataDir[] = [];
const ids: { inFlight: string; scheduled: string; delivered: string } = { inFlight: '', scheduled: '', delivered: '' };

const idOf = async (service: Herald, sentBody: object) => {
  const { status, body } = await service.notify(sentBody);
  if (status !== 202) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return String(body['notificationId']);
};
/** Has left. */
const unwilling = { channel: 'EMAIL', recipient: 'unwilling@example.com' };
const webhook = (path: string) => ({ channel: 'WEBHOOK', recipient: `${sink.url}${path}`, body: 'b' });
const sent = (id: string) => sink.requests.filter(({ headers }) => headers['webhook-id'] === id).length;
const becomes = (service: Herald, id: string, status: string) =>
  until(async () => {
    const record = await recordOf(service, id);
    return record?.status === status && record;
  });

beforeAll(async () => {
  sink = await startHttpSink({
    respond: ({ path }, response) => {
      if (path === '/slow' && unanswered.length === 0) unanswered.push(response);
      else response.writeHead(200).end();
    },
  });
  dataDir = await makeDataDir('embedded');
  folder = await mkdtemp(join(tmpdir(), 'herald-backup-'));
  original = await startHerald(dataDir, { RATE_LIMIT: '1000000/10s' });
  ids.delivered = await idOf(original, webhook('/fast'));
  await becomes(original, ids.delivered, 'DELIVERED');
  ids.scheduled = await idOf(original, {
    ...webhook('/later'),
    sendAt: new Date(Date.now() + 3_600_000).toISOString(),
  });
  ids.inFlight = await idOf(original, webhook('/slow'));
  await until(() => unanswered.length === 1);
  const resend = {
    provider: 'resend',
    apiKey: 're_12345678901234',
    config: { fromName: 'Shop', fromEmail: 'shop@example.com' },
  };
  expect((await original.dashboard('POST', '/providers', { channel: 'EMAIL', ...resend })).status).toBe(200);
  expect((await original.dashboard('POST', '/suppressions', unwilling)).status).toBe(201);
  // The service is busy while it is backed up.
  const over = new AbortController();
  const posting = (async () => {
    let posted = 0;
    for (; !over.signal.aborted; posted++) await idOf(original, { channel: 'IN_APP', recipient: 'u', body: 'b' });
    return posted;
  })();
  const { code, stderr } = await command(['backup', folder], dataDir.environment);
  over.abort();
  expect([code, stderr]).toEqual([0, '']);
  expect(await posting).toBeGreaterThan(0);
  // Since the backup the original has sent it.
  for (const response of unanswered) response.writeHead(200).end();
  await becomes(original, ids.inFlight, 'DELIVERED');
  suppressed = (await original.dashboard('GET', '/suppressions')).body;
  await original.stop();
});
afterEach(async () => {
  await copy?.kill();
  copy = null;
});
afterAll(async () => {
  await original.stop();
  await sink.close();
  for (const one of [dataDir, ...made]) await one.remove();
  await rm(folder, { recursive: true, force: true });
});

async function restored(pending: string): Promise<{ to: DataDir; stdout: string }> {
  const to = await makeDataDir('embedded');
  made.push(to);
  const { code, stdout, stderr } = await command(['restore', folder, '--pending', pending], to.environment);
  expect([code, stderr]).toEqual([0, '']);
  copyFileSync(join(dataDir.path, 'encryption-secret'), join(to.path, 'encryption-secret'));
  copyFileSync(join(dataDir.path, 'issuer-key.json'), join(to.path, 'issuer-key.json'));
  return { to, stdout };
}

/** Everything before it has been dealt with once it is delivered. */
const isAtWork = async (service: Herald) => becomes(service, await idOf(service, webhook('/new')), 'DELIVERED');

it('holds the events of the original up to where it was made, each equal, and the same tenants', async () => {
  const { to } = await restored('send');
  const db = new DatabaseSync(join(to.path, 'log.db'));
  db.exec(`ATTACH '${join(dataDir.path, 'log.db')}' AS original; ATTACH '${join(to.path, 'settings.db')}' AS settings`);
  const one = (sql: string) => Number(Object.values(db.prepare(sql).get() ?? {})[0]);
  const columns = 'topic, "partition", "offset", type, schema, appended_at, bytes';
  const told = JSON.parse(readFileSync(join(folder, 'backup.json'), 'utf8')) as { events: Record<string, number> };
  const counted = Object.values(told.events).reduce((sum, count) => sum + count, 0);
  expect(counted).toBeGreaterThan(5);
  expect(one('SELECT count(*) FROM main.events')).toBe(counted);
  expect(
    one(`SELECT count(*) FROM (SELECT ${columns} FROM main.events EXCEPT SELECT ${columns} FROM original.events)`),
  ).toBe(0);
  expect(one('SELECT count(*) FROM settings.tenants')).toBe(1);
  db.close();
  expect(statSync(join(folder, 'log.db')).mode & 0o077).toBe(0);
});

it('with hold a copy sends nothing that was pending until it is retried, and whatever is new', async () => {
  const { to, stdout } = await restored('hold');
  expect(stdout).toMatch(/Pending were \d+: none is sent; they are FAILED with the code RESTORED/);
  const before = sent(ids.inFlight);
  copy = await startHerald(to);
  for (const id of [ids.inFlight, ids.scheduled])
    expect(await becomes(copy, id, 'FAILED')).toMatchObject({
      attempts: [{ errorCode: 'RESTORED', errorClass: 'system' }],
    });
  expect((await recordOf(copy, ids.delivered))?.status).toBe('DELIVERED');
  await isAtWork(copy);
  expect([sent(ids.inFlight), sent(ids.scheduled), sent(ids.delivered)]).toEqual([before, 0, 1]);
  for (const id of [ids.inFlight, ids.scheduled])
    expect((await copy.dashboard('POST', `/notifications/${id}/retry`)).status).toBe(202);
  await becomes(copy, ids.inFlight, 'DELIVERED');
  // Its time is ahead: until then it waits again, and may be stopped.
  await becomes(copy, ids.scheduled, 'SCHEDULED');
  expect((await copy.dashboard('POST', `/notifications/${ids.scheduled}/cancel`)).status).toBe(200);
  await becomes(copy, ids.scheduled, 'CANCELLED');
  expect(sent(ids.scheduled)).toBe(0);
});

it('sends nothing to whom the original didn’t', async () => {
  expect(suppressed['data']).toMatchObject([unwilling]);
  copy = await startHerald((await restored('hold')).to);
  const id = await idOf(copy, { ...unwilling, subject: 's', body: 'b' });
  expect(await becomes(copy, id, 'FAILED')).toMatchObject({
    attempts: [{ errorClass: 'recipient', errorCode: 'SUPPRESSED' }],
  });
  expect((await copy.dashboard('GET', '/suppressions')).body).toEqual(suppressed);
});

it('with cancel what was pending is CANCELLED, with send it goes out, also a second time', async () => {
  const before = sent(ids.inFlight);
  const cancelled = await restored('cancel');
  copy = await startHerald(cancelled.to);
  for (const id of [ids.inFlight, ids.scheduled]) await becomes(copy, id, 'CANCELLED');
  await isAtWork(copy);
  expect(sent(ids.inFlight)).toBe(before);
  await copy.stop();
  copy = await startHerald((await restored('send')).to);
  await becomes(copy, ids.inFlight, 'DELIVERED');
  expect(sent(ids.inFlight)).toBe(before + 1);
  expect((await recordOf(copy, ids.scheduled))?.status).toBe('SCHEDULED');
});

it('is refused beside what was left of another log, all of it in one sentence, and makes nothing', async () => {
  const to = await makeDataDir('embedded');
  made.push(to);
  const left = ['log.db-wal', 'log.db-shm', 'settings.db-journal', 'idempotency.db', 'jobs.db'];
  for (const name of left) writeFileSync(join(to.path, name), 'left');
  const { code, stderr } = await command(['restore', folder, '--pending', 'hold'], to.environment);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`holds ${left.join(', ')} already`)]);
  expect(['log.db', 'settings.db', 'restoring'].filter((name) => existsSync(join(to.path, name)))).toEqual([]);
});

it('is refused in a sentence where its folder is a file, and leaves that as it is', async () => {
  const path = `${dataDir.path}-file`;
  writeFileSync(path, 'mine');
  for (const to of [path, join(path, 'below')]) {
    const { code, stdout, stderr } = await command(['backup', to], dataDir.environment);
    expect([code, stdout, stderr]).toEqual([1, '', `${to} is not a folder. Name a folder of its own.\n`]);
  }
  expect(readFileSync(path, 'utf8')).toBe('mine');
  rmSync(path);
});

it('is refused when a file is another than it was, and into a folder that is in use', async () => {
  const to = await makeDataDir('embedded');
  made.push(to);
  const without = await command(['restore', folder], to.environment);
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('--pending')]);
  const used = await command(['restore', folder, '--pending', 'hold'], dataDir.environment);
  expect([used.code, used.stderr]).toEqual([1, expect.stringContaining('log.db')]);
  const again = await command(['backup', folder], dataDir.environment);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('not empty')]);
  const bytes = readFileSync(join(folder, 'log.db'));
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  writeFileSync(join(folder, 'log.db'), bytes);
  const damaged = await command(['restore', folder, '--pending', 'hold'], to.environment);
  expect([damaged.code, damaged.stderr]).toEqual([1, expect.stringContaining('log.db')]);
});
