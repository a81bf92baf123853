// Before each test file in CI: says which process runs it, so that a file that hangs can be ended (journal.mjs).

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from '@jest/globals';

const folder = `${process.env.CI_JOURNAL}.workers`;
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, String(process.pid)), expect.getState().testPath ?? '');
