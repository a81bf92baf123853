// What a tenant reads: so many in a window and four at once; what is over waits for its turn, then gets 429, and nobody else notices.

import { afterEach, describe, expect, it } from '@jest/globals';

import { keyLifetimeMs } from '../../src/domain/idempotency.ts';
import { notificationIdOf, uuidV7Bytes } from '../../src/domain/ids.ts';
import { createManualClock } from '../adapters/memory/manual-clock.ts';
import type { App, AppOptions } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { EventReader } from '../support/event-source.ts';
import { readEvents } from '../support/event-source.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
const open: EventReader[] = [];

const start = async (options: AppOptions): Promise<void> => {
  app = await startApp({ delivers: false, ...options });
};

afterEach(async () => {
  for (const reader of open.splice(0)) await reader.close();
  await app.close();
});

const inbox = '/notify/inapp/ada';
const inApp = { channel: 'IN_APP', recipient: 'ada', body: 'World' };

/** What looks for rows stands still until `go`; each of the reads here looks for some once at a time. */
function heldReader() {
  const gate = Promise.withResolvers<void>();
  let running = 0;
  let most = 0;
  const replace: NonNullable<AppOptions['replace']> = ({ reader }) => ({
    reader: {
      ...reader,
      async find(query) {
        most = Math.max(most, ++running);
        await gate.promise;
        running--;
        return reader.find(query);
      },
    },
  });
  return { replace, go: gate.resolve, running: () => running, most: () => most };
}

/** Read models change and time goes on when the test says so, and each question about an id or a position of theirs is counted. */
function movedByHand() {
  const clock = createManualClock();
  const listeners = new Set<() => void>();
  let asked = 0;
  const counted = <T>(answer: T): T => {
    asked++;
    return answer;
  };
  const replace: NonNullable<AppOptions['replace']> = (deps) => ({
    clock: { ...deps.clock, monotonic: clock.monotonic, sleep: clock.sleep },
    reader: {
      ...deps.reader,
      get: (...of) => counted(deps.reader.get(...of)),
      positions: (...of) => counted(deps.reader.positions(...of)),
      onChange(_, listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
  });
  const change = () => {
    for (const listener of listeners) listener();
  };
  return { replace, change, asked: () => asked, advance: clock.advance };
}

/** Of the form that an Idempotency-Key gives: it is waited for all day, however slow the machine. */
const madeUp = (i: number) => notificationIdOf(uuidV7Bytes(today, new Uint8Array(10).fill(i)));
const today = Date.now() - (Date.now() % keyLifetimeMs);

describe('the reads of a tenant', () => {
  it('are so many in a window, by key and by token together; past it 429 says when, and nobody else is kept', async () => {
    // Those that are counted may wait for their place as long as a slow machine needs.
    await start({ options: { readLimit: { limit: 10, windowMs: 60_000 }, answers: { waitMs: 60_000 } } });
    const [a, b] = [await app.tenant('a'), await app.tenant('b')];
    const asks = [
      () => a.withKey('GET', inbox),
      () => a.dashboard('GET', '/notifications'),
      () => a.dashboard('GET', '/tenant'),
    ];
    const replies = await Promise.all(Array.from({ length: 14 }, () => asks.map((ask) => ask())).flat());
    const statuses = replies.map((reply) => reply.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    const refused = replies.filter((reply) => reply.status === 429);
    expect(refused).toHaveLength(32);
    for (const reply of refused) {
      expect(reply.body).toMatchObject({ code: 'TOO_MANY_REQUESTS', details: [], requestId: expect.any(String) });
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(reply.headers.get('ratelimit')).toMatch(/^"reads";r=0;t=\d+$/);
      expect(reply.headers.get('ratelimit-policy')).toBe('"reads";q=10;w=60');
    }
    expect((await a.withKey('GET', `${inbox}/stream`)).status).toBe(429);
    expect((await b.withKey('GET', inbox)).headers.get('ratelimit')).toMatch(/^"reads";r=9;/);
    expect((await a.notify(inApp)).status).toBe(202);
    expect((await app.call('GET', '/api/v1/tenant', {})).status).toBe(401);
  });

  it('that are over wait for the next window where it begins within a second', async () => {
    await start({ options: { readLimit: { limit: 2, windowMs: 300 } } });
    const a = await app.tenant('a');
    const replies = await Promise.all(Array.from({ length: 5 }, () => a.withKey('GET', inbox)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  it('are four at once, the others wait for their turn, and another tenant does not wait for them', async () => {
    const held = heldReader();
    await start({ replace: held.replace, options: { answers: { waitMs: 60_000 } } });
    const [a, b] = [await app.tenant('a'), await app.tenant('b')];
    const replies = Array.from({ length: 12 }, (_, i) =>
      i % 2 === 0 ? a.withKey('GET', inbox) : a.dashboard('GET', '/dashboard/failures'),
    );
    await until(() => held.running() >= 4, { what: 'four reads' });
    const other = b.withKey('GET', inbox);
    await until(() => held.running() === 5, { what: 'the read of the other tenant' });
    held.go();
    expect((await other).status).toBe(200);
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual(replies.map(() => 200));
  });

  it('that find no place in time get 429 with Retry-After, and the tenant still sends', async () => {
    const held = heldReader();
    await start({ replace: held.replace, options: { answers: { waitMs: 50 } } });
    const a = await app.tenant('a');
    const four = Array.from({ length: 4 }, () => a.withKey('GET', inbox));
    await until(() => held.running() === 4, { what: 'four reads' });
    const fifth = await a.withKey('GET', '/notify/notif_01JD0000000000000000000000');
    expect([fifth.status, fifth.body.code, fifth.headers.get('retry-after')]).toEqual([429, 'TOO_MANY_REQUESTS', '1']);
    expect((await a.notify(inApp)).status).toBe(202);
    held.go();
    expect((await Promise.all(four)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});

describe('who merely waits', () => {
  const far = { 'x-after-position': 'notifications.deliveries:0:999999' };

  it('for a position takes no place of those who read', async () => {
    await start({});
    const a = await app.tenant('a');
    let settled = 0;
    const waiting = Array.from({ length: 8 }, () => a.withKey('GET', inbox, undefined, far).finally(() => settled++));
    const read = await a.withKey('GET', inbox);
    expect([read.status, settled]).toEqual([200, 0]);
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(waiting.map(() => 200));
  });

  it.each([
    ['a record by an id', 404, (a: Tenant, i: number) => a.withKey('GET', `/notify/${madeUp(i)}`)],
    ['a cancel', 404, (a: Tenant, i: number) => a.dashboard('POST', `/notifications/${madeUp(i)}/cancel`)],
    ['a retry', 404, (a: Tenant, i: number) => a.dashboard('POST', `/notifications/${madeUp(i)}/retry`)],
    ['a resend', 404, (a: Tenant, i: number) => a.dashboard('POST', `/notifications/${madeUp(i)}/resend`)],
    ['an inbox behind a position', 200, (a: Tenant) => a.withKey('GET', inbox, undefined, far)],
  ])(
    'two hundred times for what never comes, %s: of them four ask at a change, and another tenant asks beside them',
    async (_, status, ask) => {
      const hand = movedByHand();
      await start({ replace: hand.replace, options: { answers: { waitMs: 60_000 } } });
      const [a, b] = [await app.tenant('a'), await app.tenant('b')];
      const waiting = Array.from({ length: 200 }, (_each, i) => ask(a, i));
      await until(() => hand.asked() === 200, { what: 'the first look of each' });
      const other = b.withKey('GET', `/notify/${madeUp(0)}`);
      await until(() => hand.asked() === 201, { what: 'the first look of the other tenant' });
      for (let changes = 1; changes <= 10; changes++) {
        hand.change();
        // What a change brings about is done by the time that a request is answered.
        expect((await b.dashboard('GET', '/tenant')).status).toBe(200);
        expect(hand.asked()).toBe(201 + changes * (4 + 1));
      }
      let isOver = false;
      const replies = Promise.all([other, ...waiting]).finally(() => (isOver = true));
      await until(
        () => {
          hand.advance(500);
          return isOver;
        },
        { what: 'all to be answered' },
      );
      expect((await replies).map((reply) => reply.status)).toEqual([404, ...waiting.map(() => status)]);
    },
  );

  it('for the events of a stream takes none either', async () => {
    await start({ options: { answers: { waitMs: 50 } } });
    const a: Tenant = await app.tenant('a');
    for (let i = 0; i < 6; i++)
      open.push(await readEvents(`${app.url}/api/v1${inbox}/stream`, { 'x-api-key': a.apiKey }));
    expect(open.map(({ status }) => status)).toEqual(open.map(() => 200));
    expect((await a.withKey('GET', inbox)).status).toBe(200);
  });
});
