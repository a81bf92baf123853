// The SQLite log over threads and processes: a real worker on the connection, and a process that is killed.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { connectEventLog } from '../../../src/adapters/sqlite/event-log/connected.ts';
import { openEventLog, type SqliteEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { allTopics, defaultPartitioning, workTopic } from '../../../src/domain/topics.ts';
import type { Claim } from '../../../src/ports/event-log.ts';
import { requested } from '../../support/requested.ts';
import { until } from '../../support/until.ts';
import { wallClock } from '../../support/wall-clock.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const high = workTopic('EMAIL', 'HIGH');
const numbers = (length: number) => Array.from({ length }, (_, n) => n);

describe('the SQLite event log over threads', () => {
  let folder: string;
  let log: SqliteEventLog;

  const open = () =>
    openEventLog({
      path: join(folder, 'log.db'),
      codec: createCodec(),
      clock: wallClock,
      logger: silent,
      topics: allTopics,
      groups: [{ group: 'projector-inbox', topics: [high] }],
      partitioning: defaultPartitioning,
    });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-log-'));
    log = open();
  });
  afterEach(async () => {
    await log.close();
    rmSync(folder, { recursive: true });
  });

  it('serves a worker thread: it takes what is appended here, appends itself, and its death gives its numbers back', async () => {
    const shared = log.share();
    const url = new URL('event-log-thread.ts', import.meta.url);
    const worker = new Worker(fileURLToPath(url), { workerData: { log: shared }, transferList: [shared.port] });
    const taken: number[] = [];
    const appended: string[] = [];
    worker.on('message', (message: { taken?: number; appended?: string }) => {
      if (message.taken !== undefined) taken.push(message.taken);
      if (message.appended !== undefined) appended.push(message.appended);
    });
    try {
      for (const n of numbers(30)) await log.append(requested(n % 12, n));
      await until(() => taken.length === 30);
      const tailed: number[] = [];
      log.tail(
        [high],
        ({ event }) => void (event?.type === 'NotificationRequested' && tailed.push(Number(event.recipient))),
      );
      for (const n of numbers(20)) worker.postMessage(30 + n, []);
      await until(() => taken.length === 50 && appended.length === 20);
      expect([...taken].sort((a, b) => a - b)).toEqual(numbers(50));
      expect(new Set(appended)).toEqual(new Set(['durable']));
      expect(tailed.sort((a, b) => a - b)).toEqual(numbers(20).map((n) => 30 + n));
      await until(async () => (await committedSum()) === 50);
    } finally {
      await worker.terminate();
    }
    const owned: number[] = [];
    await log.consume({
      group: 'projector-inbox',
      topics: [high],
      owned: ({ partition }) => void owned.push(partition),
      lost() {},
    });
    await until(() => owned.length === 12);
  });

  it('sends a connected thread a message only when it sleeps, and fewer than one a flush under load', async () => {
    const shared = log.share();
    let wakes = 0;
    shared.port.on('message', (messages: { kind: string }[]) => {
      wakes += messages.filter(({ kind }) => kind === 'wake').length;
    });
    const connected = await connectEventLog(shared, { codec: createCodec(), clock: wallClock, logger: silent });
    for (const n of numbers(100)) await log.append(requested(0, n));
    expect(wakes).toBe(0);

    let told = 0;
    connected.tail([high], () => told++);
    const begun = performance.now();
    for (const n of numbers(500)) await log.append(requested(0, n));
    await until(() => told === 500);
    expect(wakes).toBeGreaterThan(0);
    // It asks 2 ms after a message for the next one; a timer may be up to 1 ms early.
    expect(wakes).toBeLessThanOrEqual(performance.now() - begun + 2);
    await connected.close();
  });

  it('answers what a connected thread has open, and voids its claims, when the log closes', async () => {
    const connected = await connectEventLog(log.share(), { codec: createCodec(), clock: wallClock, logger: silent });
    const claims: Claim[] = [];
    await connected.consume({ group: 'g', topics: [high], owned: (claim) => void claims.push(claim), lost() {} });
    const results = numbers(10).map((n) => connected.append(requested(0, n)));
    await log.close();
    await until(() => claims.length === 12 && claims.every(({ signal }) => signal.aborted));
    for (const result of await Promise.all(results)) expect(result.kind).not.toBe('refused');
    expect((await connected.append(requested(0, 11))).kind).toBe('refused');
    expect(await connected.ready()).toBe(false);
    await connected.close();
  });

  it('has lost nothing that it called durable when its process is killed', async () => {
    await log.close();
    const script = fileURLToPath(new URL('event-log-process.ts', import.meta.url));
    const child = spawn(process.execPath, [script, join(folder, 'log.db')], { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    await until(() => printed.length > 20_000);
    child.kill('SIGKILL');
    await once(child, 'close');

    log = open();
    const stored = new Map<number, string>();
    for await (const { offset, event } of log.read({ topic: high, partition: 0, from: 0, to: Infinity })) {
      if (event?.type === 'NotificationRequested') stored.set(offset, event.recipient);
    }
    const durable = printed.split('\n').slice(0, -1);
    expect(durable.length).toBeGreaterThan(1000);
    for (const [offset, n] of durable.map((line) => line.split(' '))) expect(stored.get(Number(offset))).toBe(n);
    expect((await log.append(requested(0, 0))).kind).toBe('durable');
  });

  async function committedSum(): Promise<number> {
    const committed = await log.committed('projector-inbox', high);
    return committed.reduce((sum, position) => sum + (position?.offset ?? 0), 0);
  }
});
