// What every answer to a hostile request owes: in time, no fault of ours, nothing of our insides; and the service lives.

import { ownWriteWaitMs } from '../../src/api/own-writes.ts';
import { expect } from '@jest/globals';

import type { App } from './app.ts';

/** A stack, a path of the sources, a driver's or the runtime's own words. */
const insides =
  /\n\s+at |node_modules|\/src\/|\.(?:ts|js):\d+|TypeError|RangeError|SyntaxError|SQLITE|MongoServer|ECONN|undici/;

export function expectHarmless(answer: {
  readonly status: number;
  readonly text: string;
  readonly tookMs: number;
}): void {
  expect(answer.status).toBeGreaterThanOrEqual(200);
  expect(answer.status).toBeLessThan(500);
  expect(answer.text).not.toMatch(insides);
  // A read waits for its tenant's own writes, some of which never come where nothing is delivered.
  expect(answer.tookMs).toBeLessThan(ownWriteWaitMs + 1000);
}

/** The process serves, logged no failure, and no prototype was written to. */
export async function expectAlive(app: App): Promise<void> {
  expect((await app.call('GET', '/.well-known/jwks.json', {})).status).toBe(200);
  expect(app.lines.filter(({ level }) => level === 'error')).toEqual([]);
  const fresh: Record<string, unknown> = {};
  for (const name of ['polluted', '$gt', 'isAdmin']) expect(fresh[name]).toBeUndefined();
}
