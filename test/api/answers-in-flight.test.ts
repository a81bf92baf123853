// Answers in flight: bounded per tenant and in all, each waiter in its turn, and those who don't read stop their own reads alone.

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createMetrics } from '../../src/adapters/node/metrics.ts';
import type { AnswersInFlight } from '../../src/api/answers-in-flight.ts';
import { answerLimits, createAnswersInFlight } from '../../src/api/answers-in-flight.ts';
import { ClientGoneError } from '../../src/api/errors.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const [a, b, c] = ['a', 'b', 'c'] as TenantId[] as [TenantId, TenantId, TenantId];

/** What of an answer is looked at: whether and when its reader has it, or is gone. */
function answer() {
  const res = Object.assign(new EventEmitter(), { closed: false, destroy: () => res.emit('close') });
  return res as unknown as ServerResponse & { emit(event: 'finish' | 'close'): boolean };
}

const limits = {
  perTenantMax: 10,
  perProcessMax: 15,
  waitMs: 40,
  takenWithinMs: 10_000,
  perTurnMax: 100,
  perTenantWaitingMax: 2,
  perTenantAtOnceMax: 4,
};
const create = (given: Partial<typeof limits> = {}) =>
  createAnswersInFlight(createMetrics({ processMetrics: false }), { ...limits, ...given });
const held = async (answers: AnswersInFlight, tenantId: TenantId, bytes: number) => {
  const res = answer();
  (await answers.take(tenantId, 1, res)).holds(res, bytes);
  return res;
};

describe('room for an answer', () => {
  it('is there while the tenant and the process have it; past that 429 or 503, after a wait', async () => {
    const answers = create();
    const ofA = await held(answers, a, 10);
    await expect(answers.take(a, 1, answer())).rejects.toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      retryAfterSeconds: 1,
    });
    await held(answers, b, 5);
    await expect(answers.take(c, 1, answer())).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    ofA.emit('finish');
    ofA.emit('close');
    (await answers.take(c, 10, answer())).giveBack();
    await expect(answers.take(c, 11, answer())).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' });
  });

  it('counts what is asked for until it is written, then what it has, until it is taken or its reader is gone', async () => {
    const answers = create({ waitMs: 10_000 });
    const [first, second] = [answer(), answer()];
    const room = await answers.take(a, 10, first);
    const waiting = answers.take(a, 8, second);
    room.holds(first, 2);
    (await waiting).holds(second, 8);
    const third = answers.take(a, 2, answer());
    first.emit('close');
    (await third).giveBack();
  });

  it('is for so many reads of a tenant at once, until they are written, and others do not wait for theirs', async () => {
    const answers = create({ waitMs: 10_000, perTenantAtOnceMax: 2 });
    const first = await answers.take(a, 1, answer());
    await answers.take(a, 1, answer());
    let isIn = false;
    const third = answers.take(a, 1, answer()).then((room) => {
      isIn = true;
      return room;
    });
    (await answers.take(b, 1, answer())).giveBack();
    expect(isIn).toBe(false);
    const written = answer();
    first.holds(written, 1);
    const room = await third;
    room.giveBack();
    // Given back twice it is still one place.
    room.giveBack();
    written.emit('finish');
    const last = [answers.take(a, 1, answer()), answers.take(a, 1, answer())];
    await last[0];
    let isOver = false;
    void last[1]?.then(() => (isOver = true));
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(isOver).toBe(false);
    (await last[0])?.giveBack();
    (await last[1])?.giveBack();
  });

  it('is given to the longest wait first, and a tenant without room holds up no other', async () => {
    const answers = create({ waitMs: 10_000 });
    const [ofA, ofB] = [await held(answers, a, 10), await held(answers, b, 5)];
    const order: string[] = [];
    const enter = (name: string, tenantId: TenantId) =>
      answers.take(tenantId, 5, answer()).then((room) => order.push(name) && room);
    const all = [enter('a1', a), enter('a2', a), enter('c', c)];
    ofB.emit('finish');
    await until(() => order.length === 1, { what: 'one to be let in' });
    expect(order).toEqual(['c']);
    ofA.emit('finish');
    await Promise.all(all);
    expect(order).toEqual(['c', 'a1', 'a2']);
  });

  it('is let into a turn of the event loop by turns of the tenants, a page at a time', async () => {
    const answers = create({ waitMs: 10_000, perTurnMax: 4, perTenantMax: 1000, perProcessMax: 1000 });
    const order: string[] = [];
    const enter = (name: string, tenantId: TenantId) =>
      answers.take(tenantId, 4, answer()).then((room) => order.push(name) && room);
    const all = [enter('a1', a), enter('a2', a), enter('a3', a), enter('b1', b), enter('c1', c)];
    for (let i = 0; i < 50; i++) await Promise.resolve();
    expect(order).toEqual(['a1']);
    await Promise.all(all);
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
  });

  it('is asked for by so many at once, and no more by a client that went away', async () => {
    const answers = create({ waitMs: 10_000 });
    const ofA = await held(answers, a, 10);
    const res = answer();
    const gone = answers.take(a, 5, res);
    const next = answers.take(a, 5, answer());
    await expect(answers.take(a, 5, answer())).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    res.emit('close');
    await expect(gone).rejects.toThrow(ClientGoneError);
    ofA.emit('finish');
    (await next).giveBack();
    (await answers.take(a, 10, answer())).giveBack();
  });

  it('is not held for ever by a reader that takes a byte now and then', async () => {
    const answers = create({ takenWithinMs: 20, waitMs: 5000 });
    await held(answers, a, 10);
    (await answers.take(a, 10, answer())).giveBack();
  });
});

describe('readers that do not read', () => {
  let app: App;
  const metrics = createMetrics({ processMetrics: false });
  const sockets: Socket[] = [];
  const body = 'x'.repeat(190 * 1024);

  beforeAll(async () => {
    app = await startApp({ replace: () => ({ metrics }) });
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await app.close();
  });

  it('hold 8 MiB, stop the reads of their own tenant alone, and give all of it back as they go', async () => {
    const [idle, other] = [await app.tenant('idle'), await app.tenant('other')];
    for (const tenant of [idle, other]) {
      for (let i = 0; i < 5; i++) await tenant.notify({ channel: 'IN_APP', recipient: 'ada', body });
      const unread = async () => (await tenant.withKey('GET', '/notify/inapp/ada?limit=1')).body.unreadCount;
      await until(async () => (await unread()) === 5, { what: 'the items' });
    }
    const request = `GET /api/v1/notify/inapp/ada?limit=100 HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${idle.apiKey}\r\n\r\n`;
    const port = Number(new URL(app.url).port);
    const before = process.memoryUsage().rss;
    // One behind the other on each connection: the system's buffers take some of them.
    const open = () => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => undefined).pause();
      socket.write(request.repeat(20));
      sockets.push(socket);
    };
    for (let i = 0; i < 25; i++) open();
    const bytes = async () => Number(/^herald_answers_bytes (\d+)/m.exec(await metrics.read())?.[1]);
    const refused = await until(
      async () => {
        const reply = await idle.withKey('GET', '/notify/inapp/ada');
        if (reply.status === 429) return reply;
        open();
        return null;
      },
      { what: 'the tenant to be at its bound', timeoutMs: 20_000 },
    );
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await bytes()).toBeLessThanOrEqual(answerLimits.perTenantMax);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);

    expect((await other.withKey('GET', '/notify/inapp/ada')).body.notifications).toHaveLength(5);
    expect((await idle.notify({ channel: 'IN_APP', recipient: 'ada', body: 'still accepted' })).status).toBe(202);
    expect((await idle.dashboard('GET', '/tenant')).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await bytes()) === 0, { what: 'all room to be given back' });
    expect((await idle.withKey('GET', '/notify/inapp/ada')).status).toBe(200);
  });
});
