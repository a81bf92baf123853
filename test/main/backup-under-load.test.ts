// A backup made while notifications are posted as fast as a busy shop posts them: what it holds, and what a copy of it sends.
// BACKUP_RATE (a second) and BACKUP_SECONDS (before the backup begins) make it as heavy as one likes; the figures are printed.

import { createHash } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import type { Poster } from '../support/posting.ts';
import { createPoster } from '../support/posting.ts';
import { recordOf } from '../support/records.ts';
import { until } from '../support/until.ts';

const rate = Number(process.env['BACKUP_RATE'] ?? '100');
const seconds = Number(process.env['BACKUP_SECONDS'] ?? '3');
const tickMs = 20;

let dataDir: DataDir;
let folder: string;
let sink: HttpSink;
let original: Herald;
let poster: Poster;
const copies: Herald[] = [];
const made: DataDir[] = [];
const accepted: string[] = [];

beforeAll(async () => {
  sink = await startHttpSink();
  poster = createPoster();
  dataDir = await makeDataDir('embedded');
  folder = await mkdtemp(join(tmpdir(), 'herald-backup-'));
  original = await startHerald(dataDir, { RATE_LIMIT: '1000000/1s' });
  // What waits when the backup is made: the original sends it while the copy must not.
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  for (let i = 0; i < 50; i++) await post({ sendAt });

  const before = load();
  await until(() => before.sent() >= rate * seconds, { timeoutMs: 120_000, what: 'the load before the backup' });
  const tookBefore = await before.end();
  const during = load();
  const from = performance.now();
  const { code, stderr } = await command(['backup', folder], dataDir.environment);
  const backupMs = performance.now() - from;
  const tookDuring = await during.end();
  expect([code, stderr]).toEqual([0, '']);
  expect(tookDuring.length).toBeGreaterThan(0);
  console.log(
    `backup under ${rate}/s: ${Math.round(backupMs)} ms, ${tookDuring.length} posted meanwhile; ` +
      `p99 of a POST ${p99(tookBefore)} ms before, ${p99(tookDuring)} ms during it`,
  );
  await until(() => new Set(sink.requests.map(idOf)).size >= accepted.length - 50, {
    timeoutMs: 120_000,
    what: 'the original to have sent all',
  });
  await original.stop();
}, 300_000);

afterAll(async () => {
  for (const copy of copies) await copy.kill();
  await original?.stop();
  await poster?.close();
  await sink?.close();
  for (const one of [dataDir, ...made]) await one?.remove();
  await rm(folder, { recursive: true, force: true });
});

const idOf = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) => String(headers['webhook-id']);

async function post(more: object = {}): Promise<number> {
  const from = performance.now();
  const { status, id } = await poster.post(original, { channel: 'WEBHOOK', recipient: sink.url, body: 'b', ...more });
  if (status !== 202 || id === null) throw new Error(`answered ${status}`);
  accepted.push(id);
  return performance.now() - from;
}

/** Posts at the rate until it is ended, whatever the answers take; resolves with how many ms each took. */
function load() {
  const posts: Promise<number>[] = [];
  const from = performance.now();
  const timer = setInterval(() => {
    const due = (rate * (performance.now() - from)) / 1000;
    while (posts.length < due) {
      const one = post();
      // Told at the end.
      one.catch(() => {});
      posts.push(one);
    }
  }, tickMs);
  return {
    sent: () => posts.length,
    async end() {
      clearInterval(timer);
      return Promise.all(posts);
    },
  };
}

function p99(times: readonly number[]): number {
  return Math.round([...times].sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN);
}

async function restored(pending: string): Promise<DataDir> {
  const to = await makeDataDir('embedded');
  made.push(to);
  const { code, stderr } = await command(['restore', folder, '--pending', pending], to.environment);
  expect([code, stderr]).toEqual([0, '']);
  for (const name of ['encryption-secret', 'issuer-key.json'])
    copyFileSync(join(dataDir.path, name), join(to.path, name));
  return to;
}

it('is equal to the original, by its hash, up to where it was made', async () => {
  const to = await restored('send');
  const [copied, own] = [join(to.path, 'log.db'), join(dataDir.path, 'log.db')];
  const copy = hashOf(copied, copied);
  expect(copy.events).toBeGreaterThan(rate * seconds);
  expect(hashOf(own, copied)).toEqual(copy);
  expect(hashOf(own, own).events).toBeGreaterThan(copy.events);
});

/** Of the events of a log that stand before the last one that `upTo` has of their topic and number. */
function hashOf(path: string, upTo: string): { readonly events: number; readonly hash: string } {
  const db = new DatabaseSync(path, { readOnly: true });
  db.exec(`ATTACH 'file:${upTo}?mode=ro' AS upto`);
  const rows = db
    .prepare(
      `SELECT topic, "partition", "offset", type, schema, appended_at, bytes FROM main.events AS one
       WHERE "offset" <= (SELECT max("offset") FROM upto.events AS last WHERE last.topic = one.topic AND last."partition" = one."partition")
       ORDER BY topic, "partition", "offset"`,
    )
    .iterate();
  const hash = createHash('sha256');
  let events = 0;
  for (const row of rows) {
    for (const value of Object.values(row)) hash.update(value instanceof Uint8Array ? value : `${String(value)};`);
    events++;
  }
  db.close();
  return { events, hash: hash.digest('hex') };
}

it('with hold sends nothing a second time', async () => {
  const before = sink.requests.length;
  const copy = await startHerald(await restored('hold'));
  copies.push(copy);
  const { body } = await copy.notify({ channel: 'WEBHOOK', recipient: sink.url, body: 'new' });
  const id = String(body['notificationId']);
  // Whatever stood before it has been dealt with by then, or waits in another number: so all of them are asked for.
  await until(async () => (await recordOf(copy, id))?.status === 'DELIVERED');
  await until(async () => {
    const { body: stats } = await copy.dashboard('GET', '/dashboard/stats?range=all');
    const { QUEUED = 0, PROCESSING = 0, RETRYING = 0, SCHEDULED = 0 } = stats['statusCounts'] as Record<string, number>;
    return QUEUED + PROCESSING + RETRYING + SCHEDULED === 0;
  });
  const since = sink.requests.slice(before);
  expect(since.map(idOf)).toEqual([id]);
});
