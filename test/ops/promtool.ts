// promtool, from PATH or out of Debian's package of Prometheus, which is unpacked and not installed.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('../../.tmp/promtool', import.meta.url));

export async function findPromtool(): Promise<string> {
  const onPath = await run('promtool', ['--version']).catch(() => null);
  if (onPath !== null) return 'promtool';
  const unpacked = join(folder, 'usr/bin/promtool');
  if (existsSync(unpacked)) return unpacked;
  await mkdir(folder, { recursive: true });
  try {
    // A fresh machine has no list of packages.
    await download().catch(async () => {
      await run('apt-get', ['update', '-q']);
      await download();
    });
    const packaged = (await readdir(folder)).find((name) => name.endsWith('.deb')) ?? '';
    await run('dpkg', ['-x', join(folder, packaged), folder]);
  } catch (cause) {
    throw new Error('promtool is not on PATH, and could not be fetched: apt-get install prometheus', { cause });
  }
  return unpacked;
}

const download = () => run('apt-get', ['download', '-q', 'prometheus'], { cwd: folder });
