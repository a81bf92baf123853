// Pages in the middle of a file that have turned on the disk, met while the service runs: a line, readiness and every answer say so, and what may be done; the
// rest of the service goes on.

import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import type { Installations } from '../support/installations.ts';
import { createInstallations } from '../support/installations.ts';
import { readinessOf } from '../support/nodes.ts';
import { allRecords } from '../support/records.ts';
import { until } from '../support/until.ts';

let installations: Installations;
let whole: DataDir;

beforeAll(async () => {
  installations = await createInstallations({});
  whole = await installations.folder();
  const service = await installations.start(whole);
  const template = { name: 'welcome', channel: 'SMS', body: 'Hello' };
  expect((await service.dashboard('POST', '/templates', template)).status).toBe(201);
  expect(await service.stop()).toBe(0);
  await installations.run(whole, ['ada', 'bob']);
}, 120_000);
afterAll(() => installations.close());

/** The first byte of a page says what kind of page it is. */
function damage(path: string, tables: RegExp): void {
  const db = new DatabaseSync(path);
  const roots = db
    .prepare("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'")
    .all()
    .filter(({ name }) => tables.test(String(name)));
  const pageSize = Number(db.prepare('PRAGMA page_size').get()?.['page_size']);
  db.close();
  expect(roots.length).toBeGreaterThan(0);
  const file = openSync(path, 'r+');
  for (const { rootpage } of roots) writeSync(file, Buffer.from([0xa7]), 0, 1, (Number(rootpage) - 1) * pageSize);
  closeSync(file);
}

/** Lines of what was found, none of which shows where in the program. */
function toldOf(service: Herald, path: string): string[] {
  const lines = service.logs().split('\n');
  expect(lines.filter((line) => line.includes('malformed') && line.includes('"stack"'))).toEqual([]);
  return lines.filter((line) => line.includes('"a file is damaged"') && line.includes(path));
}

it('of settings.db: what is on it is 503, readiness names the file and its remedy, and notifications are accepted', async () => {
  const folder = await installations.folder(whole);
  const path = join(folder.path, 'settings.db');
  damage(path, /^templates$/);
  const service = await installations.start(folder);
  expect((await service.dashboard('GET', '/templates')).status).toBe(503);
  expect((await service.dashboard('GET', '/templates')).status).toBe(503);
  expect(toldOf(service, path)).toHaveLength(1);
  const ready = await readinessOf(service.operationsUrl);
  expect(ready?.status).toBe('not ready');
  expect(ready?.dependencies['settings']).toContain(`${path} is damaged`);
  expect(ready?.dependencies['settings']).toContain('must not be deleted: put it back from its backup');
  expect((await service.notify({ channel: 'IN_APP', recipient: 'eve', body: 'b' })).status).toBe(202);
  expect(await service.stop()).toBe(0);
});

it('of views.db: queries are 503, readiness names the file and its remedy, and once it is deleted all is there again', async () => {
  const folder = await installations.folder(whole);
  const path = join(folder.path, 'views.db');
  damage(path, /^(notifications_2|inbox_2)_v/);
  const service = await installations.start(folder);
  expect((await service.dashboard('GET', '/notifications')).status).toBe(503);
  expect((await service.notify({ channel: 'IN_APP', recipient: 'eve', body: 'b' })).status).toBe(202);
  // The thread that folds meets it as well.
  await until(() => toldOf(service, path).length >= 2);
  const ready = await readinessOf(service.operationsUrl);
  expect(ready?.status).toBe('not ready');
  expect(ready?.dependencies['readModels']).toContain(`${path} is damaged`);
  expect(ready?.dependencies['readModels']).toContain('It may be deleted');
  expect(await service.stop()).toBe(0);

  await installations.remove(folder, 'views.db');
  const mended = await installations.start(folder);
  await until(async () => (await allRecords(mended)).length === 3);
  expect((await readinessOf(mended.operationsUrl))?.status).toBe('ready');
  expect(await mended.stop()).toBe(0);
});

it('of idempotency.db: requests with a key are 503, a line names the file and its remedy, and those without are accepted', async () => {
  const folder = await installations.folder(whole);
  const path = join(folder.path, 'idempotency.db');
  damage(path, /^keys$/);
  const service = await installations.start(folder);
  const body = { channel: 'IN_APP', recipient: 'eve', body: 'b' };
  const headers = { 'x-api-key': service.apiKey, 'idempotency-key': 'one' };
  expect((await service.call('POST', '/api/v1/notify', { body, headers })).status).toBe(503);
  await until(() => toldOf(service, path).length > 0);
  expect(toldOf(service, path)).toEqual([expect.stringContaining('It may be deleted')]);
  expect((await service.notify(body)).status).toBe(202);
  expect(await service.stop()).toBe(0);
});

it('of jobs.db: jobs are 503, a line names the file and its remedy, and notifications are accepted', async () => {
  const folder = await installations.folder(whole);
  const file = join(folder.path, 'jobs.db');
  damage(file, /^jobs$/);
  const service = await installations.start(folder);
  const headers = { 'x-api-key': service.apiKey };
  const notifications = [{ channel: 'IN_APP', recipient: 'eve', body: 'b' }];
  const batch = await service.call('POST', '/api/v1/notify/batch', { headers, body: { notifications } });
  const path = `/api/v1/notify/batch/${String(batch.body['batchId'])}/cancel`;
  expect((await service.call('POST', path, { headers })).status).toBe(503);
  // Its line comes by another stream than the answer.
  await until(() => toldOf(service, file).length > 0);
  expect(toldOf(service, file)).toEqual([expect.stringContaining('It may be deleted')]);
  expect((await service.notify({ channel: 'IN_APP', recipient: 'eve', body: 'b' })).status).toBe(202);
  expect(await service.stop()).toBe(0);
});
