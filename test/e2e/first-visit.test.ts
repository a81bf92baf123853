// A clean clone is started: what browsers load is made beside the service, before anybody asks for it.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cp, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { DataDir } from '../support/herald.ts';
import { heraldCommand, makeDataDir, startHerald } from '../support/herald.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const installed = ['bin', 'src', 'schemas', 'dashboard', 'clients', 'package.json'];
let clone: string;
let dataDir: DataDir;
let command: readonly string[];

beforeAll(async () => {
  clone = await mkdtemp(join(tmpdir(), 'herald-clone-'));
  for (const name of installed)
    await cp(join(root, name), join(clone, name), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    });
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'));
  command = heraldCommand.map((part) => part.replace(root, `${clone}/`));
  dataDir = await makeDataDir('embedded');
});
afterAll(async () => {
  await dataDir.remove();
  // A bundler that has just been stopped may write its last file.
  await rm(clone, { recursive: true, force: true, maxRetries: 5 });
});

const built = async (): Promise<readonly string[]> =>
  (await readdir(join(clone, 'build')).catch(() => [])).filter((name) => name.startsWith('web-'));

it('a service that is stopped while its pages are built stops at once', async () => {
  const herald = await startHerald(dataDir, {}, [], command);
  expect(await herald.stop()).toBe(0);
  expect(herald.logs()).not.toContain('could not be');
});

it('the first request after a start finds the pages made: no file is read for it any more', async () => {
  const herald = await startHerald(dataDir, { LOG_LEVEL: 'info' }, [], command);
  await until(() => herald.logs().includes('the pages for browsers are there'), { timeoutMs: 50_000 });
  expect(await built()).toHaveLength(1);
  // Nothing is left that it could be made of now.
  for (const name of ['build', 'dashboard', 'clients']) await rm(join(clone, name), { recursive: true });
  const page = await fetch(`${herald.url}/dashboard`);
  expect(page.status).toBe(200);
  const [, script = ''] = /src="(dashboard\/assets\/[^"]+\.js)"/.exec(await page.text()) ?? [];
  expect((await fetch(`${herald.url}/${script}`)).status).toBe(200);
  expect((await fetch(`${herald.url}/inbox.js`)).status).toBe(200);
  expect(await herald.stop()).toBe(0);
}, 90_000);
