// `npm start` as a person or a supervisor stops it: by a signal to npm alone, or to all that it has started.

import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { makeDataDir, processEnvironment } from '../support/herald.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

it.each([
  ['SIGTERM', 'npm alone'],
  ['SIGTERM', 'the group'],
  ['SIGINT', 'npm alone'],
  ['SIGINT', 'the group'],
] as const)('%s to %s stops the service, which drains before npm ends', async (signal, whom) => {
  const dataDir = await makeDataDir('embedded');
  const settings = { PORT: '0', OPS_PORT: '0', LOG_LEVEL: 'info', ...dataDir.environment };
  // A group of its own, as a shell makes one.
  const npm = spawn('npm', ['start'], { cwd: root, env: processEnvironment(settings), detached: true });
  let told = '';
  let logs = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => (told += text));
  npm.stderr.setEncoding('utf8').on('data', (text: string) => (logs += text));
  const ended = once(npm, 'exit');
  const pid = npm.pid ?? 0;
  try {
    await until(() => told.includes('API key'), { what: 'the banner', timeoutMs: 60_000 });
    process.kill(whom === 'the group' ? -pid : pid, signal);
    expect(await ended).toEqual([0, null]);
    expect(logs).toContain('"stopping"');
    expect(existsSync(join(dataDir.path, 'lock.pid'))).toBe(false);
  } finally {
    // Whatever is left of the group; ESRCH: nothing is.
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {}
    await dataDir.remove();
  }
});
