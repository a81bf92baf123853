// What of the log's queue a transaction takes: what came by itself goes before what came hundreds at a time, and neither keeps the other out.

import { beforeEach, expect, it } from '@jest/globals';

import type { AppendQueue, Queued } from '../../../src/adapters/sqlite/event-log/append-queue.ts';
import { createAppendQueue, flushMax } from '../../../src/adapters/sqlite/event-log/append-queue.ts';

const [high, bulk] = [0, 1];
const half = flushMax.events / 2;

interface Named extends Queued {
  readonly name: string;
}

let nowMs: number;
let queue: AppendQueue<Named>;

beforeEach(() => {
  nowMs = 1000;
  queue = createAppendQueue<Named>(2, { monotonic: () => nowMs });
});

it('what is urgent goes first, however many came before it', () => {
  add(flushMax.events + 3, 'other', bulk);
  add(2, 'urgent', high);
  expect(queue.take().appends.slice(0, 3)).toMatchObject([{ name: 'urgent' }, { name: 'urgent' }, { name: 'other' }]);
});

it('where both wait either has half of a transaction', () => {
  add(flushMax.events, 'other', bulk);
  add(half, 'urgent', high);
  expect(taken()).toEqual({ hasUrgent: true, urgent: half, other: half });
  expect(taken()).toEqual({ hasUrgent: false, urgent: 0, other: half });
});

it('however much is urgent and comes on, the others have half of each transaction', () => {
  add(2 * half, 'other', bulk);
  for (let i = 0; i < 2; i++) {
    add(3 * flushMax.events, 'urgent', high);
    expect(queue.take().appends.filter(({ name }) => name === 'other')).toHaveLength(half);
  }
});

it('however large what is urgent is, of the others one at least goes with it', () => {
  queue.add({ name: 'urgent', slot: high, bytes: new Uint8Array(2 * flushMax.bytes) }, true);
  add(1, 'other', bulk);
  expect(taken()).toEqual({ hasUrgent: true, urgent: 1, other: 1 });
});

it('each partition keeps its order: what comes behind others of its own, or finds no room, waits with them', () => {
  add(3, 'other', bulk);
  add(1, 'urgent', bulk);
  add(half, 'urgent', high);
  add(1, 'last', high);
  add(1, 'very last', high);
  const names = queue.take().appends.map(({ name, slot }) => `${name} ${slot}`);
  expect(names.slice(half)).toEqual(['other 1', 'other 1', 'other 1', 'urgent 1', 'last 0', 'very last 0']);
  add(1, 'urgent', bulk);
  expect(queue.take().hasUrgent).toBe(true);
});

it('either alone fills a transaction', () => {
  add(flushMax.events + 1, 'other', bulk);
  expect(taken()).toEqual({ hasUrgent: false, urgent: 0, other: flushMax.events });
  expect(taken()).toEqual({ hasUrgent: false, urgent: 0, other: 1 });
  add(flushMax.events + 1, 'urgent', high);
  expect(taken()).toEqual({ hasUrgent: true, urgent: flushMax.events, other: 0 });
  expect(taken()).toEqual({ hasUrgent: false, urgent: 1, other: 0 });
});

it('a transaction says since when the first that waits has waited, and the queue what it holds', () => {
  add(flushMax.events, 'other', bulk);
  nowMs = 1500;
  add(1, 'urgent', high);
  expect(queue.bytes).toBe(flushMax.events + 1);
  expect(queue.take().since).toBe(1000);
  queue.take();
  expect([queue.size, queue.bytes]).toEqual([0, 0]);
  nowMs = 1700;
  add(1, 'urgent', high);
  expect(queue.take().since).toBe(1700);
});

function add(count: number, name: string, slot: number): void {
  for (let i = 0; i < count; i++) queue.add({ name, slot, bytes: new Uint8Array(1) }, name !== 'other');
}

function taken(): object {
  const { appends, hasUrgent } = queue.take();
  const of = (wanted: string) => appends.filter(({ name }) => name === wanted).length;
  return { hasUrgent, urgent: of('urgent'), other: of('other') };
}
