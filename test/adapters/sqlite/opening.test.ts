// Opening a log costs the same however many events it holds, by processor time. HERALD_TEST_EVENTS=10000000 is its full size: some 5 GiB of disk, and minutes to fill.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { openEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { eventLogShape } from '../../../src/main/event-log-shape.ts';
import { requested } from '../../support/requested.ts';
import { cpuMsSince } from '../../support/thread-cpu.ts';
import { wallClock } from '../../support/wall-clock.ts';
import { silentLogger } from './silent-logger.ts';

const events = Number(process.env['HERALD_TEST_EVENTS'] ?? '150000');
const few = 1_000;
const atOnce = 500;
const opens = 7;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-opening-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (name: string) =>
  openEventLog({
    ...eventLogShape,
    path: join(folder, name),
    codec: createCodec(),
    clock: wallClock,
    logger: silentLogger,
  });

async function fill(name: string, count: number): Promise<void> {
  const log = open(name);
  for (let n = 0; n < count; n += atOnce)
    await log.appendAll(Array.from({ length: atOnce }, (_, i) => requested((n + i) % 12, n + i, 'BULK')));
  await log.close();
}

/** ms; the least of some, since whatever else this thread does at the time only adds to it. */
async function opening(name: string): Promise<number> {
  const took: number[] = [];
  for (let n = 0; n < opens; n++) {
    const before = process.threadCpuUsage();
    const log = open(name);
    took.push(cpuMsSince(before));
    await log.close();
  }
  return Math.min(...took);
}

it(
  'a log of many events is opened at the cost of one of few',
  async () => {
    await fill('few.db', few);
    await fill('many.db', events);
    const [ofFew, ofMany] = [await opening('few.db'), await opening('many.db')];
    // A tree of pages is a level or two deeper.
    expect(ofMany).toBeLessThan(1.5 * ofFew + 3);
  },
  60_000 + events,
);
