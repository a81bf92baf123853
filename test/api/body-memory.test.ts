// The memory of bodies: bounded in all and by tenant, waited for, then refused; and nobody's slow bodies are another's.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { BodyRoom } from '../../src/api/body-memory.ts';
import { createBodyMemory } from '../../src/api/body-memory.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { rawRequest } from '../support/raw-http.ts';

/** Sleeps never end, but by their signal. */
const standingClock = {
  sleep: (_: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
};
/** Every sleep is over at once. */
const impatientClock = { sleep: async () => {} };
const limits = { totalBytesMax: 1000, waitingMax: 8, waitMaxMs: 1 };

/** Whether a wait is over, without waiting for anything more to happen. */
async function isOver(taken: Promise<unknown>): Promise<boolean> {
  return Promise.race([taken.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

describe('the memory of bodies', () => {
  it('gives one owner half of it, and the next as much as is free then', async () => {
    const memory = createBodyMemory(impatientClock, limits);
    await memory.roomFor('a').take(500);
    await expect(memory.roomFor('a').take(1)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await memory.roomFor('b').take(250);
    await expect(memory.roomFor('b').take(1)).rejects.toMatchObject({ retryAfterSeconds: 1 });
    await memory.roomFor('c').take(125);
  });

  it('is its owner’s from when it is known who that is, before any is taken', async () => {
    const memory = createBodyMemory(impatientClock, limits);
    const [first, second] = [memory.roomFor(''), memory.roomFor('')];
    first.belongsTo('a');
    await first.take(500);
    second.belongsTo('b');
    await second.take(250);
    expect(() => second.belongsTo('c')).toThrow('stays whose it is');
    await expect(memory.roomFor('a').take(1)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    first.release();
    await memory.roomFor('a').take(300);
  });

  it('lets wait whoever finds no room, and goes on in their order as it is given back', async () => {
    const memory = createBodyMemory(standingClock, limits);
    const first = memory.roomFor('a');
    await first.take(500);
    const [second, third] = [memory.roomFor('a'), memory.roomFor('a')];
    const waits = [second.take(400), third.take(400)];
    expect(await Promise.all(waits.map(isOver))).toEqual([false, false]);
    first.release();
    expect(await Promise.all(waits.map(isOver))).toEqual([true, false]);
    second.release();
    expect(await isOver(waits[1] ?? Promise.reject(new Error('no wait')))).toBe(true);
  });

  it('refuses at once whoever waits already as often as places are free, and leaves those to others', async () => {
    const memory = createBodyMemory(standingClock, limits);
    await memory.roomFor('a').take(500);
    await memory.roomFor('b').take(250);
    await memory.roomFor('c').take(250);
    const wait = (owner: string, times: number) => {
      for (let i = 0; i < times; i++) void memory.roomFor(owner).take(1);
    };
    wait('a', 4);
    await expect(memory.roomFor('a').take(1)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    wait('b', 2);
    await expect(memory.roomFor('b').take(1)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(await isOver(memory.roomFor('d').take(1))).toBe(false);
    expect(memory.waiting()).toBe(7);
  });

  it('lets nobody wait once it is closed: who waits is told, and so is who comes, but where there is room', async () => {
    const memory = createBodyMemory(standingClock, limits);
    await memory.roomFor('a').take(500);
    const waits = ['a', 'a'].map((owner) => memory.roomFor(owner).take(1));
    memory.close();
    for (const wait of [...waits, memory.roomFor('a').take(1)])
      await expect(wait).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(memory.waiting()).toBe(0);
    await memory.roomFor('b').take(100);
  });

  it('holds no more than there is, whoever asks, and nothing once all is given back', async () => {
    const memory = createBodyMemory(impatientClock, limits);
    const taken: BodyRoom[] = [];
    let bytes = 0;
    for (let i = 0; i < 200; i++) {
      const room = memory.roomFor(`owner-${i % 7}`);
      const size = 10 + ((i * 37) % 90);
      await room.take(size).then(
        () => {
          taken.push(room);
          bytes += size;
        },
        () => undefined,
      );
    }
    expect(bytes).toBeGreaterThan(limits.totalBytesMax / 2);
    expect(bytes).toBeLessThanOrEqual(limits.totalBytesMax);
    for (const room of taken) room.release();
    await memory.roomFor('a').take(500);
  });
});

describe('100 bodies of a tenant that are sent slowly', () => {
  let app: App;

  beforeAll(async () => {
    app = await startApp({ delivers: false });
  });
  afterAll(() => app.close());

  it("are received as far as there is room, then 503 with Retry-After; another tenant's is accepted meanwhile", async () => {
    const [slow, other] = [await app.tenant('slow'), await app.tenant('other')];
    const port = Number(new URL(app.url).port);
    const head = `POST /api/v1/notify HTTP/1.1\r\nhost: h\r\nx-api-key: ${slow.apiKey}\r\ncontent-type: application/json\r\n`;
    const begun = `${head}content-length: ${256 * 1024}\r\n\r\n{"channel":"IN_APP","recipient":"u","body":"${'x'.repeat(1000)}`;
    const answers = Array.from({ length: 100 }, () => rawRequest(port, begun, { withinMs: 6000 }));
    await Promise.race(answers);
    const body = 'x'.repeat(190 * 1024);
    expect((await other.notify({ channel: 'IN_APP', recipient: 'user-1', body })).status).toBe(202);
    const refused = (await Promise.all(answers)).filter(({ statuses }) => statuses.length > 0);
    // Half of 8 MiB are 16 of 256 KiB.
    expect(refused).toHaveLength(84);
    for (const { statuses, text } of refused) {
      expect(statuses).toEqual([503]);
      expect(text).toMatch(/\r\nretry-after: 1\r\n/i);
    }
    expect((await slow.notify({ channel: 'IN_APP', recipient: 'user-1', body })).status).toBe(202);
  });
});
