// Loaded into a service before anything else (NODE_OPTIONS): its wall clock is as far ahead as a file says, in ms, in each of its threads; the monotonic one is as ever.

import { readFileSync } from 'node:fs';

const file = process.env['TEST_CLOCK_FILE'] ?? '';
const readEveryMs = 10;
const Real = globalThis.Date;
const now = Real.now.bind(Real);
let aheadMs = 0;

function read(): void {
  aheadMs = Number(readFileSync(file, 'utf8'));
}

read();
setInterval(read, readEveryMs).unref();

globalThis.Date = class extends Real {
  constructor(...of: [] | [number]) {
    if (of.length === 0) super(now() + aheadMs);
    else super(...of);
  }
  static override now(): number {
    return now() + aheadMs;
  }
} as DateConstructor;
