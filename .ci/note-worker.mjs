// Before each test file in CI: says which process runs it, so that a file that hangs can be ended (journal.mjs). And what has run without engines already doesn't
// begin on them any more when the time for that is over: CI_AGAIN_UNTIL, in seconds since 1970.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from '@jest/globals';

import { isRepeatedOnEngines } from '../test/support/repeated-on-engines.js';
import { noTimeLeft } from './no-time-left.mjs';

const { testPath = '' } = expect.getState();
const folder = `${process.env.CI_JOURNAL}.workers`;
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, String(process.pid)), testPath);

const until = Number(process.env.CI_AGAIN_UNTIL || Infinity);
if (Date.now() / 1000 > until && isRepeatedOnEngines(testPath)) throw new Error(noTimeLeft);
