// What a batch may have waiting in the items' thread, in pieces and in bytes: others' pieces wait behind it.

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { batchLimits } from '../../src/api/batch-items.ts';
import { intakeLimits } from '../../src/api/batch-intake.ts';
import type { ItemsThread } from '../../src/main/items-thread.ts';
import type { ItemMaker, ItemsOf } from '../../src/ports/item-maker.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { startItems } from '../support/items-thread.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

interface Held {
  readonly of: ItemsOf;
  readonly bytes: number;
  letThrough(): void;
}

let thread: ItemsThread;
let app: App;
/** What has been asked for and waits, in its order. */
let held: Held[];
const [heldMost, bytesMost] = [new Map<string, number>(), new Map<string, number>()];

beforeEach(async () => {
  held = [];
  heldMost.clear();
  bytesMost.clear();
  thread = await startItems();
  const make: ItemMaker['make'] = async (texts, of) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const bytes = texts.reduce((sum, text) => sum + text.length, 0);
    held.push({ of, bytes, letThrough: resolve });
    const same = held.filter(({ of: { batchId } }) => batchId === of.batchId);
    const note = (most: Map<string, number>, now: number) =>
      most.set(of.batchId, Math.max(most.get(of.batchId) ?? 0, now));
    note(heldMost, same.length);
    note(
      bytesMost,
      same.reduce((sum, one) => sum + one.bytes, 0),
    );
    await promise;
    return thread.itemMaker.make(texts, of);
  };
  app = await startApp({ delivers: false, folds: false, replace: () => ({ itemMaker: { make } }) });
});
afterEach(async () => {
  await app.close();
  await thread.stop();
});

const post = (tenant: Tenant, count: number, body: string) =>
  tenant.withKey(
    'POST',
    '/notify/batch',
    Array.from({ length: count }, () => JSON.stringify({ channel: 'IN_APP', recipient: 'ada', body })).join('\n'),
    { 'content-type': 'application/x-ndjson' },
  );

/** Until the answer is there. */
async function letAllThrough<T>(answer: Promise<T>): Promise<T> {
  let isThere = false;
  void answer.then(() => (isThere = true));
  await until(
    () => {
      held.shift()?.letThrough();
      return isThere;
    },
    { what: 'the answer', timeoutMs: 30_000, everyMs: 1 },
  );
  return answer;
}

it.each([
  ['small items: pieces', batchLimits.itemsMax, 'hi', intakeLimits.piecesAheadMax, intakeLimits.aheadBytesMax],
  // The last piece is one that goes past it by as much as it has.
  ['large items: bytes', 60, 'x'.repeat(150_000), 2, intakeLimits.aheadBytesMax + 150_100],
])('are bounded by %s, and another tenant’s come to it meanwhile', async (_, count, body, piecesMax, bytesMax) => {
  const [many, few] = [await app.tenant('many'), await app.tenant('few')];
  const answer = post(many, count, body);
  await until(() => held.length === piecesMax, { what: 'as many as it may have' });
  const other = post(few, 3, 'hi');
  await until(() => held.length === piecesMax + 1, { what: "the other's" });
  expect(held.at(-1)?.of.tenantId).toBe(few.id);
  held.splice(-1)[0]?.letThrough();
  expect((await other).body).toMatchObject({ accepted: 3, rejected: 0 });
  expect((await letAllThrough(answer)).body).toMatchObject({ accepted: count, rejected: 0 });
  expect(Math.max(...heldMost.values())).toBe(piecesMax);
  expect(Math.max(...bytesMost.values())).toBeLessThanOrEqual(bytesMax);
});
