// The thread that makes events of batches' items: which processes have one, what it answers, and what becomes of who waits for it when it ends or hangs.

import { availableParallelism } from 'node:os';

import { afterEach, describe, expect, it } from '@jest/globals';

import { createCodec } from '../../src/codec/index.ts';
import { unpacked } from '../../src/codec/packed.ts';
import type { BatchId, TenantId } from '../../src/domain/ids.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import { defaultPartitioning } from '../../src/domain/topics.ts';
import type { Role } from '../../src/main/config.ts';
import { allRoles, readConfig } from '../../src/main/config.ts';
import type { ItemsThread } from '../../src/main/items-thread.ts';
import { hasItemsThread, startItemsThread } from '../../src/main/items-thread.ts';

const of = { tenantId: 'tnt_a' as TenantId, batchId: 'batch_a' as BatchId, trace: noTrace };
const item = (recipient: string, more: object = {}) =>
  JSON.stringify({ channel: 'IN_APP', recipient, body: 'hi', ...more });

describe('which processes have it', () => {
  const has = (threads: string, roles: readonly Role[]) =>
    hasItemsThread(readConfig({ THREADS: threads }), new Set(roles));

  it('those that THREADS leaves one for, beside what else they do', () => {
    expect(['2', '3', '4'].map((threads) => has(threads, allRoles))).toEqual([false, false, true]);
    expect(['2', '3'].map((threads) => has(threads, ['api', 'projector']))).toEqual([false, true]);
    expect(has('2', ['api'])).toBe(true);
  });

  it('not those that take no batches, nor those whose dispatchers are in the main thread', () => {
    expect(has('4', ['dispatcher', 'projector', 'scheduler'])).toBe(false);
    expect(has('2', ['api', 'dispatcher'])).toBe(false);
    expect(has('3', ['api', 'dispatcher'])).toBe(true);
  });

  it('as many as there are cores, where nobody says it', () => {
    expect(has('auto', ['api'])).toBe(availableParallelism() >= 2);
    expect(has('auto', allRoles)).toBe(availableParallelism() >= 4);
  });
});

describe('the thread', () => {
  const said: string[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => void said.push(message) };
  const input = { partitioning: defaultPartitioning, outboundAllow: [] };
  let thread: ItemsThread;
  const start = async (answersWithinMs?: number) => {
    thread = await startItemsThread(input, logger, new AbortController().signal, answersWithinMs);
    return thread.itemMaker;
  };
  afterEach(() => thread.stop());

  it('answers with the events of each channel and priority, with what is wrong, and with how far it came', async () => {
    const maker = await start();
    const webhook = { channel: 'WEBHOOK', recipient: 'https://example.com/a', body: '{}' };
    const texts = [
      item('ada'),
      'no JSON',
      JSON.stringify(webhook),
      JSON.stringify({ ...webhook, recipient: 'http://10.0.0.1/' }),
      item('bo', { priority: 'HIGH' }),
      item('ada', { idempotencyKey: 'k' }),
      item('never'),
    ];
    const made = await maker.make(texts, of);
    expect(made?.through).toBe(5);
    expect(made?.refused).toMatchObject([
      { place: 1, code: 'BAD_REQUEST' },
      { place: 3, code: 'BAD_REQUEST', details: [{ path: 'recipient' }] },
    ]);
    expect(made?.made).toMatchObject([
      { channel: 'IN_APP', places: [0] },
      { channel: 'WEBHOOK', places: [2] },
      { channel: 'IN_APP', places: [4] },
    ]);
    const events = (made?.made ?? []).flatMap((group) => unpacked(createCodec(), group.events));
    expect(events).toMatchObject([
      { tenantId: of.tenantId, recipient: 'ada', priority: 'DEFAULT', request: { batchId: of.batchId, body: 'hi' } },
      { recipient: webhook.recipient },
      { recipient: 'bo', priority: 'HIGH' },
    ]);
    expect(made?.made.flatMap(({ notificationIds }) => notificationIds)).toEqual(
      events.map((event) => 'notificationId' in event && event.notificationId),
    );
  });

  it.each([
    ['a template', { template: 'welcome', body: undefined }],
    ['data', { data: { a: 1 } }],
    ['strict text', { strict: true }],
    ['a key', { idempotencyKey: 'k' }],
  ])('leaves %s to who knows the tenant', async (_, more) => {
    expect(await (await start()).make([item('ada', more)], of)).toEqual({ through: 0, made: [], refused: [] });
  });

  it('leaves what it fails at to the main thread, and goes on', async () => {
    const maker = await start();
    const wrong = { ...of, trace: { ...noTrace, traceparent: 17 as unknown as string } };
    expect(await maker.make([item('ada')], wrong)).toEqual({ through: 0, made: [], refused: [] });
    expect((await maker.make([item('ada')], of))?.through).toBe(1);
  });

  it('answers in the order of the calls', async () => {
    const maker = await start();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        maker.make(
          Array.from({ length: 20 - i }, () => item('ada')),
          of,
        ),
      ),
    );
    expect(answers.map((made) => made?.through)).toEqual(Array.from({ length: 20 }, (_, i) => 20 - i));
  });

  it('that ends tells who waits for it, and who comes later, that it is gone', async () => {
    const maker = await start();
    const waiting = maker.make([item('ada')], of);
    thread.terminate();
    expect((await thread.failed).message).toBe('the thread of the items ended');
    expect([await waiting, await maker.make([item('ada')], of)]).toEqual([null, null]);
  });

  it('has not hung where it was the main thread that stood still', async () => {
    const maker = await start(200);
    const waiting = maker.make([item('ada')], of);
    const until = performance.now() + 1000;
    while (performance.now() < until);
    expect((await waiting)?.through).toBe(1);
    expect(said).toEqual([]);
  });

  it('that hangs is ended, and it is said', async () => {
    const maker = await start(20);
    // So many wrong numbers take it longer than it has.
    const long = item('ada', { metadata: { a: 'x' }, data: Array.from({ length: 20_000 }, () => 1e300) });
    const answers = Promise.all(
      Array.from({ length: 30 }, () =>
        maker.make(
          Array.from({ length: 10 }, () => long),
          of,
        ),
      ),
    );
    await thread.failed;
    expect((await answers).at(-1)).toBeNull();
    expect(said).toContain("the items' thread does not answer");
  });
});
