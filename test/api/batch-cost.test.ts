// What a batch costs beside its events alone: of the processor, and of memory at a time. The figure, of a machine that does nothing else:
//
//   E2E_BATCH_COST=0.7 npm test -- test/api/batch-cost

import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { intakeLimits } from '../../src/api/batch-intake.ts';
import { batchLimits } from '../../src/api/batch-items.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { keepHeapsSmall } from '../../src/main/heap.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';

/** What the events alone cost, as a share of what their batch does. Without it each is only counted. */
const shareMin = Number(process.env['E2E_BATCH_COST'] ?? '0');
const rounds = shareMin === 0 ? 1 : 15;
const items = batchLimits.itemsMax;

let app: App;
let tenant: Awaited<ReturnType<App['tenant']>>;
/** What was appended while it is not null. */
let events: DomainEvent[] | null = null;
let waiting = 0;
let waitingMost = 0;
let inTurn = 0;
let inTurnMost = 0;
let takes = 0;

beforeAll(async () => {
  // As the service runs.
  if (shareMin > 0) keepHeapsSmall();
  app = await startApp({
    delivers: false,
    folds: false,
    options: { itemLimit: { limit: 100_000_000, windowMs: 10_000 } },
    replace: ({ log: own, limiter }) => ({
      log: {
        ...own,
        async append(event) {
          if (events === null) return own.append(event);
          events.push(event);
          if (inTurn++ === 0) setImmediate(() => (inTurn = 0));
          inTurnMost = Math.max(inTurnMost, inTurn);
          waitingMost = Math.max(waitingMost, ++waiting);
          const result = await own.append(event);
          waiting--;
          return result;
        },
        async appendAll(all) {
          if (events === null) return own.appendAll(all);
          events.push(...all);
          if (inTurn === 0) setImmediate(() => (inTurn = 0));
          inTurnMost = Math.max(inTurnMost, (inTurn += all.length));
          waitingMost = Math.max(waitingMost, (waiting += all.length));
          const results = await own.appendAll(all);
          waiting -= all.length;
          return results;
        },
      },
      limiter: {
        ...limiter,
        take(...args) {
          takes++;
          return limiter.take(...args);
        },
      },
    }),
  });
  tenant = await app.tenant('owner');
});
afterAll(() => app.close());

it('of 10,000 items has two flushes in hand and one in a turn of the event loop, and asks for its limits once a piece', async () => {
  expect(await eventsOfBatch()).toHaveLength(items + 1);
  const { pieceItemsMax, flushItemsMax, flushesMax } = intakeLimits;
  expect(waitingMost).toBeLessThanOrEqual(flushItemsMax * flushesMax);
  // The count begins anew behind whatever goes on in its turn: the next flush may be in it.
  expect(inTurnMost).toBeLessThanOrEqual(2 * flushItemsMax);
  expect(takes).toBe(1 + items / pieceItemsMax);
}, 120_000);

it('costs little more than appending its events', async () => {
  const same = await eventsOfBatch();
  const client = startClient();
  const [batch, alone]: [number[], number[]] = [[], []];
  for (let i = 0; i < rounds; i++) {
    batch.push(await cpuMsOf(() => client.post()));
    alone.push(await cpuMsOf(() => Promise.all(same.map((event) => app.deps.log.append(event)))));
  }
  client.stop();
  const [ofBatch, ofEvents] = [median(batch), median(alone)];
  if (shareMin > 0) process.stderr.write(`${JSON.stringify({ ofBatch, ofEvents, share: ofEvents / ofBatch })}\n`);
  expect(ofEvents / ofBatch).toBeGreaterThan(shareMin);
}, 300_000);

async function eventsOfBatch(): Promise<readonly DomainEvent[]> {
  [events, waitingMost, inTurnMost, takes] = [[], 0, 0, 0];
  const lines = Array.from({ length: items }, (_, i) => line(i)).join('\n');
  const { body } = await tenant.withKey('POST', '/notify/batch', lines, { 'content-type': 'application/x-ndjson' });
  expect(body.accepted).toBe(items);
  const appended = events;
  events = null;
  return appended;
}

function line(i: number): string {
  return JSON.stringify({
    channel: 'IN_APP',
    recipient: `user-${i % 1000}`,
    subject: 'Hello',
    body: `Item ${i} is here`,
  });
}

/** A process of its own, whose time isn't this one's: posts the batch whenever it is told to. */
function startClient() {
  const text = `
    const lines = Array.from({ length: ${items} }, (_, i) => (${line.toString()})(i)).join('\\n');
    process.stdin.on('data', async () => {
      const headers = { 'x-api-key': '${tenant.apiKey}', 'content-type': 'application/x-ndjson' };
      const answer = await fetch('${app.url}/api/v1/notify/batch', { method: 'POST', headers, body: lines });
      await answer.arrayBuffer();
      process.stdout.write(String(answer.status));
    });`;
  const child = spawn(process.execPath, ['-e', text], { stdio: ['pipe', 'pipe', 'inherit'] });
  return {
    async post(): Promise<void> {
      child.stdin.write('\n');
      const [status] = (await once(child.stdout, 'data')) as [Buffer];
      expect(String(status)).toBe('202');
    },
    stop: () => child.kill(),
  };
}

async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function median(of: readonly number[]): number {
  return of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)] ?? 0;
}
