// A thread of the service: one that waits for its engines, as when a broker is away, is alive and never started; one that is busy was counted before.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { startThread } from '../../src/main/service-thread.ts';
import { until } from '../support/until.ts';

let folder: string;
let entry: URL;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-thread-'));
  const path = join(folder, 'worker.mjs');
  writeFileSync(
    path,
    `import { parentPort } from 'node:worker_threads';
    parentPort.on('message', () => {});
    parentPort.postMessage({ kind: 'told', told: 'waits' });`,
  );
  entry = pathToFileURL(path);
});
const plain = { name: 'items', engines: 'embedded', input: {}, transfers: [], stopWithinMs: 1000 } as const;
afterAll(() => rmSync(folder, { recursive: true }));

function starting(signal: AbortSignal) {
  const told: string[] = [];
  let end = '';
  const hear = (what: string) => void told.push(what);
  startThread<string>({ ...plain, entry, signal, hear }).then(
    () => (end = 'started'),
    () => (end = 'ended'),
  );
  return { told, end: () => end };
}

it('is ended when the process is told to stop', async () => {
  const stopping = new AbortController();
  const { told, end } = starting(stopping.signal);
  await until(() => told.length > 0, { what: 'the thread to wait' });
  stopping.abort();
  await until(end, { what: 'the end of the start' });
  expect(end()).toBe('ended');
});

it('is not begun when the process was told to stop before', async () => {
  const { told, end } = starting(AbortSignal.abort());
  await until(end, { what: 'the end of the start', timeoutMs: 5000 });
  expect([end(), told]).toEqual(['ended', []]);
});

it('that is too busy to say what it has counted is as it said last, also when that came too late', async () => {
  const path = join(folder, 'busy.mjs');
  writeFileSync(
    path,
    `import { parentPort } from 'node:worker_threads';
    const tell = (id, name) => parentPort.postMessage({ kind: 'metrics', id, snapshot: [{ name }] });
    parentPort.on('message', ({ id }) => {
      if (id === 1) tell(1, 'at once');
      if (id === 3) tell(2, 'too late');
    });
    parentPort.postMessage({ kind: 'started' });`,
  );
  const { signal } = new AbortController();
  const thread = await startThread<string>({ ...plain, entry: pathToFileURL(path), signal, hear: () => undefined });
  try {
    expect(await thread.metrics()).toEqual([[{ name: 'at once' }]]);
    expect(await thread.metrics()).toEqual([[{ name: 'at once' }]]);
    expect(await thread.metrics()).toEqual([[{ name: 'too late' }]]);
  } finally {
    thread.terminate();
  }
});
