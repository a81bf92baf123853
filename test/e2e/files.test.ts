// Whose the files of the service are: its own, in whatever folder it finds, and a secret that others could read is told of.

import { chmod, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import type { DataDir } from '../support/herald.ts';
import { herald, makeDataDir, startHerald } from '../support/herald.ts';

let dataDir: DataDir;
beforeEach(async () => {
  dataDir = await makeDataDir('embedded');
});
afterEach(() => dataDir.remove());

const modes = async () =>
  Promise.all(
    (await readdir(dataDir.path)).map(
      async (name) => [name, (await stat(join(dataDir.path, name))).mode & 0o077] as const,
    ),
  );

it('a folder that others may enter shows them nothing, and what was open in it is closed by the next start', async () => {
  await chmod(dataDir.path, 0o755);
  const first = await startHerald(dataDir);
  await first.notify({ channel: 'IN_APP', recipient: 'ada', body: 'b' });
  const made = await modes();
  expect(made.length).toBeGreaterThan(0);
  expect(made.filter(([, open]) => open !== 0)).toEqual([]);
  await first.stop();
  const databases = (await readdir(dataDir.path)).filter((name) => name.includes('.db'));
  for (const name of databases) await chmod(join(dataDir.path, name), 0o644);
  const second = await startHerald(dataDir);
  expect((await modes()).filter(([, open]) => open !== 0)).toEqual([]);
  await second.stop();
});

it('a secret that others can read is told of at the start, and in production stops it', async () => {
  const first = await startHerald(dataDir);
  await first.stop();
  const files = ['encryption-secret', 'issuer-key.json'].map((name) => join(dataDir.path, name));
  for (const file of files) await chmod(file, 0o640);
  const second = await startHerald(dataDir);
  const told = second
    .logs()
    .split('\n')
    .filter((line) => line.includes('a secret file can be read by others'));
  for (const file of files) expect(told.filter((line) => line.includes(`chmod 600 ${file}`))).toHaveLength(1);
  await second.stop();

  const { code, stderr } = await herald(['serve'], {
    ...dataDir.environment,
    NODE_ENV: 'production',
    ENCRYPTION_SECRET: 'a secret of the tests that is long enough',
    AUTH_JWKS_URL: 'http://127.0.0.1:9/jwks',
    AUTH_ISSUER: 'https://issuer.test',
    AUTH_AUDIENCE: 'herald',
    PORT: '0',
    OPS_PORT: '0',
  });
  expect(code).toBe(1);
  for (const file of files)
    expect(stderr).toContain(`${file} can be read by others than its owner: run chmod 600 ${file}`);
  expect(stderr).not.toMatch(/^\s+at /m);
});
