// A batch's events appended alone, in a process of their own and in a folder that has nothing yet.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

import { startAppending } from '../../bench/children.ts';

it('makes its log and takes all of them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'herald-appending-'));
  const alone = await startAppending({ dataDir: folder, environment: { DATA_DIR: folder } }, { items: 10 });
  try {
    expect(await alone.append()).toBeGreaterThan(0);
  } finally {
    alone.stop();
    await rm(folder, { recursive: true });
  }
}, 60_000);
