// A start on files that aren't this user's, and on a disk that has no room: one sentence with the path and what is to be done.

import { execFile } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { DataDir } from '../support/herald.ts';
import { heraldCommand, processEnvironment } from '../support/herald.ts';
import type { Installations } from '../support/installations.ts';
import { createInstallations } from '../support/installations.ts';

let installations: Installations;
let whole: DataDir;

beforeAll(async () => {
  installations = await createInstallations({});
  whole = await installations.folder();
  await installations.run(whole, ['ada']);
}, 120_000);
afterAll(() => installations.close());

/** What a start says that must not be, by a command that starts it with less than the tests have. */
async function sentenceOf(
  { environment }: DataDir,
  [command, ...args]: readonly [string, ...string[]],
): Promise<string> {
  const env = processEnvironment({ PORT: '0', OPS_PORT: '0', ...environment });
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
    const all = [...args, process.execPath, ...heraldCommand, 'serve'];
    execFile(command, all, { env, timeout: 20_000, killSignal: 'SIGKILL' }, (error, _stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stderr }),
    );
  });
  expect([code, stderr.trim().split('\n').length, stderr]).toEqual([1, 1, expect.not.stringMatching(/^\s+at /m)]);
  return stderr;
}

/** root opens whatever it likes: then without that right. */
const asAnybody: readonly [string, ...string[]] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : ['env'];

describe('without permission', () => {
  it.each(['log.db', 'views.db', 'settings.db', 'lock.db', 'encryption-secret', 'issuer-key.json'])(
    '%s: whose it should be',
    async (name) => {
      const folder = await installations.folder(whole);
      const path = join(folder.path, name);
      chmodSync(path, 0o000);
      expect(await sentenceOf(folder, asAnybody)).toContain(
        `${path} can't be read and written by this process: give it to the user that Herald runs as.`,
      );
    },
  );

  it('the folder: whose it should be', async () => {
    const folder = await installations.folder(whole);
    chmodSync(folder.path, 0o000);
    const told = await sentenceOf(folder, asAnybody);
    chmodSync(folder.path, 0o700);
    expect(told).toContain(folder.path);
    expect(told).toContain('give it to the user that Herald runs as.');
  });
});

describe('on a full disk', () => {
  const full: readonly [string, ...string[]] = ['prlimit', '--fsize=0:unlimited'];

  it('a first start: which file can not be written', async () => {
    const folder = await installations.folder();
    expect(await sentenceOf(folder, full)).toMatch(new RegExp(`${folder.path}\\S* can not be (?:read or )?written`));
  });

  it('a later start: which file can not be written', async () => {
    const folder = await installations.folder(whole);
    expect(await sentenceOf(folder, full)).toMatch(new RegExp(`${folder.path}\\S* can not be (?:read or )?written`));
  });
});
