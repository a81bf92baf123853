// Batches: results by item, in both forms; what stops one; and what is shown of it afterwards.

import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { ApiDependencies } from '../../src/api/app.ts';
import { intakeLimits } from '../../src/api/batch-intake.ts';
import { batchLimits } from '../../src/api/batch-items.ts';
import { createCodec } from '../../src/codec/index.ts';
import { unpacked } from '../../src/codec/packed.ts';
import type { ItemsThread } from '../../src/main/items-thread.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { startItems } from '../support/items-thread.ts';
import { rawRequest } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const codec = createCodec();
let thread: ItemsThread | null;
const itemMaker = () => ({ itemMaker: thread?.itemMaker ?? null });
let app: App;
let tenant: Tenant;
/** What the log answers in place of appending. */
let appendInstead: ApiDependencies['log']['append'] | null = null;
let append: ApiDependencies['log']['append'];
/** What ends the time that a batch is read in, in place of the clock. */
let timeIsUp: Promise<void> | null = null;
/** The same of the time that it has to arrive. */
let isOverdue: Promise<void> | null = null;

const item = (recipient: string, more: object = {}) => ({ channel: 'IN_APP', recipient, body: 'hi', ...more });
const ndjson = { 'content-type': 'application/x-ndjson' };
const post = (of: Tenant, notifications: readonly unknown[]) => of.withKey('POST', '/notify/batch', { notifications });
const lines = (of: Tenant, items: readonly unknown[]) =>
  of.withKey('POST', '/notify/batch', items.map((one) => JSON.stringify(one)).join('\n'), ndjson);

describe.each([
  ['checked in this thread', async () => null],
  ['with a thread that makes events of items', startItems],
])('%s', (_form, startThread) => {
  beforeAll(async () => {
    thread = await startThread();
    app = await startApp({
      replace({ log, clock }) {
        const { readMaxMs, heldMaxMs, receivedWithinMs } = intakeLimits;
        const sleep: typeof clock.sleep = (ms, signal) => {
          if (timeIsUp !== null && (ms === readMaxMs || ms === heldMaxMs)) return timeIsUp;
          return isOverdue !== null && ms === receivedWithinMs ? isOverdue : clock.sleep(ms, signal);
        };
        append = (event) => log.append(event);
        const appendAll: typeof log.appendAll = (events) =>
          appendInstead === null ? log.appendAll(events) : Promise.all(events.map(appendInstead));
        const appendEncoded: typeof log.appendEncoded = (tenantId, events) =>
          appendInstead === null
            ? log.appendEncoded(tenantId, events)
            : Promise.all(unpacked(codec, events).map(appendInstead));
        return {
          clock: { ...clock, sleep },
          log: { ...log, append: (event) => (appendInstead ?? append)(event), appendAll, appendEncoded },
          ...itemMaker(),
        };
      },
    });
    tenant = await app.tenant('owner', { email: 'owner@example.com' });
  });
  afterAll(async () => {
    await app.close();
    await thread?.stop();
  });

  describe('a batch', () => {
    it.each([
      ['as JSON', post],
      ['as NDJSON', lines],
    ])('%s has a result for each item, in their order: one that is wrong harms no other', async (name, send) => {
      const to = name.replace(' ', '-');
      const reply = await send(tenant, [
        item(to),
        { channel: 'FAX' },
        17,
        item(to, { data: { a: 1 }, body: '{{ a }}' }),
        item(''),
      ]);
      expect(reply.status).toBe(202);
      const { batchId, accepted, rejected, results } = reply.body;
      expect(batchId).toMatch(/^batch_[0-9a-z]{26}$/);
      expect([accepted, rejected]).toEqual([2, 3]);
      expect(results.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2, 3, 4]);
      expect(results[0]).toEqual({ index: 0, notificationId: expect.stringMatching(/^notif_/), status: 'queued' });
      expect(results[1]).toMatchObject({ code: 'BAD_REQUEST', error: expect.any(String) });
      expect(results[1].details.map(({ path }: { path: string }) => path)).toContain('channel');
      expect(results[4].details).toMatchObject([{ path: 'recipient' }]);
      expect(reply.headers.get('location')).toBe(`/api/v1/notify/batch/${batchId}`);
      const shown = await until(
        async () => {
          const { body } = await tenant.withKey('GET', `/notify/batch/${batchId}`);
          return body.statusCounts?.DELIVERED === 2 && body;
        },
        { what: 'both to be delivered', timeoutMs: 10_000 },
      );
      expect(shown).toMatchObject({ batchId, accepted: 2, rejected: 3, createdAt: expect.stringMatching(/Z$/) });
      const listed = await tenant.dashboard('GET', `/notifications?batchId=${batchId}`);
      expect(listed.body.data.map((record: { batchId: string }) => record.batchId)).toEqual([batchId, batchId]);
      expect(listed.body.data.map(({ body }: { body: string }) => body).toSorted()).toEqual(['1', 'hi']);
    });

    it('says of each item what its own request would have been told, however many have the same fault', async () => {
      const template = { name: 'welcome', channel: 'IN_APP', body: 'Hello {{ name }}' };
      expect((await tenant.dashboard('POST', '/templates', template)).status).toBe(201);
      const filledIn = { channel: 'IN_APP', recipient: 'filled-in', template: 'welcome' };
      const notifications = [
        { ...filledIn, data: { name: 'Ada' } },
        { ...filledIn, template: 'unknown' },
        { channel: 'SMS', recipient: '+14155550123', body: 'hi' },
        { ...filledIn, template: 'unknown' },
        { ...filledIn, data: { name: 'Bo' } },
        { channel: 'SMS', recipient: '+14155550123', template: 'welcome' },
        item('filled-in', { body: '{% if %}', data: { a: 1 } }),
        { ...filledIn, strict: true },
      ];
      const { body } = await post(tenant, notifications);
      expect([body.accepted, body.rejected]).toEqual([2, 6]);
      for (const [i, one] of notifications.entries()) {
        const alone = await tenant.notify(one);
        const { code, error, details } = body.results[i];
        if (alone.status === 202) expect(body.results[i].status).toBe('queued');
        else
          expect({ code, error, details }).toEqual({
            code: alone.body.code,
            error: alone.body.error,
            details: alone.body.details ?? [],
          });
      }
      const listed = await until(
        async () => {
          const { body: list } = await tenant.dashboard('GET', `/notifications?batchId=${body.batchId}`);
          return list.data.length === 2 && list;
        },
        { what: 'both records' },
      );
      expect(listed.data.map((record: { body: string }) => record.body).toSorted()).toEqual(['Hello Ada', 'Hello Bo']);
    });

    it('has all of its items, however many of them a thread of their own has to render, with keys and without', async () => {
      const body = '{% if vip %}Dear {% endif %}{{ name }}';
      expect((await tenant.dashboard('POST', '/templates', { name: 'tagged', channel: 'IN_APP', body })).status).toBe(
        201,
      );
      const count = 600;
      const notifications = Array.from({ length: count }, (_, i) => ({
        channel: 'IN_APP',
        recipient: 'tagged',
        template: 'tagged',
        data: { name: `n${i}`, vip: i % 2 === 0 },
        ...(i % 3 === 0 ? { idempotencyKey: `tagged-${i}` } : {}),
      }));
      const reply = await post(tenant, notifications);
      expect([reply.status, reply.body.accepted, reply.body.rejected]).toEqual([202, count, 0]);
      const listed = await tenant.dashboard('GET', '/notifications?recipient=tagged&limit=1');
      expect(listed.body.pagination.total).toBe(count);
    }, 60_000);

    it('is shown to its caller at once, with what was accepted', async () => {
      const { body } = await post(tenant, [item('at-once'), item('at-once')]);
      const shown = await tenant.withKey('GET', `/notify/batch/${body.batchId}`);
      expect(shown).toMatchObject({ status: 200, body: { accepted: 2, rejected: 0 } });
      expect((await tenant.withKey('GET', '/notify/batch/batch_00000000000000000000000000')).status).toBe(404);
      expect((await tenant.withKey('GET', '/notify/batch/nonsense')).status).toBe(404);
    });

    it('repeated with keys makes nothing twice, and the same key for something else harms its item alone', async () => {
      const items = Array.from({ length: 150 }, (_, i) => item('keyed', { idempotencyKey: `key-${i}` }));
      const ids = ({ body }: Awaited<ReturnType<typeof post>>) =>
        body.results.map((result: { notificationId: string }) => result.notificationId);
      const replies = await Promise.all([post(tenant, items), lines(tenant, items), post(tenant, items)]);
      expect(replies.map(({ body }) => body.accepted)).toEqual([150, 150, 150]);
      expect(new Set(replies.flatMap(ids)).size).toBe(150);
      const again = await post(tenant, [
        item('keyed', { body: 'else', idempotencyKey: 'key-1' }),
        item('keyed', { idempotencyKey: '' }),
      ]);
      expect(again.body.results).toMatchObject([
        { code: 'IDEMPOTENCY_KEY_REUSED' },
        { code: 'BAD_REQUEST', details: [{ path: 'idempotencyKey' }] },
      ]);
      const listed = await tenant.dashboard('GET', '/notifications?recipient=keyed');
      expect(listed.body.pagination.total).toBe(150);
    });

    it('repeated once its answer was lost is answered as what it repeats: by its id it is shown, cancelled and sent again', async () => {
      const later = new Date(Date.now() + 3_600_000).toISOString();
      const one = (n: number) => item('lost', { idempotencyKey: `lost-${n}`, sendAt: later });
      const asked = [one(1), one(2), { ...one(3), channel: 'FAX' }];
      const first = await post(tenant, asked);
      const { batchId } = first.body;
      const made = first.body.results.slice(0, 2).map((result: object) => ({ ...result, batchId }));
      for (const send of [post, lines]) {
        const again = await send(tenant, asked);
        expect(again.body).toMatchObject({ batchId, accepted: 2, rejected: 1 });
        expect(again.body.results).toEqual([...made, first.body.results[2]]);
        expect(again.headers.get('location')).toBe(`/api/v1/notify/batch/${batchId}`);
      }
      expect(first.body.results.slice(0, 2).every((result: object) => !('batchId' in result))).toBe(true);
      const { body } = await tenant.withKey('GET', `/notify/batch/${batchId}`);
      expect(body).toMatchObject({ accepted: 2, rejected: 1, statusCounts: { SCHEDULED: 2 } });
    });

    it('repeated once its process had died before it was recorded is recorded by that, and by no repeat of a part of it', async () => {
      const one = (n: number) => item('died', { idempotencyKey: `died-${n}` });
      const [first, second, refused] = [one(1), one(2), { ...one(3), channel: 'FAX' }];
      let recorded = 0;
      appendInstead = async (event) => {
        if (event.type !== 'BatchAccepted') return append(event);
        recorded++;
        return { kind: 'refused', reason: 'away' };
      };
      const { batchId } = (await post(tenant, [first, second, refused])).body;
      appendInstead = (event) => {
        if (event.type === 'BatchAccepted') recorded++;
        return append(event);
      };
      const shown = async (ofBatch: string) => (await tenant.withKey('GET', `/notify/batch/${ofBatch}`)).body;
      for (const send of [post, lines, post]) {
        expect((await send(tenant, [first, second, refused])).body).toMatchObject({
          batchId,
          accepted: 2,
          rejected: 1,
        });
        expect((await send(tenant, [second])).body).toMatchObject({ batchId, accepted: 1, rejected: 0 });
        expect(await shown(batchId)).toMatchObject({ batchId, accepted: 2, rejected: 1 });
      }
      appendInstead = null;
      expect(recorded).toBe(2);
    });

    it('a part of which is repeated first, once its process had died, has as many as are there', async () => {
      const one = (n: number) => item('died', { idempotencyKey: `died-in-part-${n}` });
      appendInstead = async (event) =>
        event.type === 'BatchAccepted' ? { kind: 'refused', reason: 'away' } : append(event);
      const { batchId } = (await post(tenant, [one(1), one(2), one(3)])).body;
      appendInstead = null;
      expect((await post(tenant, [one(2)])).body).toMatchObject({ batchId, accepted: 1 });
      const { body } = await tenant.withKey('GET', `/notify/batch/${batchId}`);
      expect(body).toMatchObject({ accepted: 3, rejected: 0 });
    });

    it('of which others have made a part is one of its own, and says of each of these whose it is', async () => {
      const one = (key: string) => item('part', { idempotencyKey: key });
      const first = await post(tenant, [one('part-1')]);
      await tenant.notify(item('part'), { 'idempotency-key': 'part-2' });
      const of = (...keys: string[]) => post(tenant, keys.map(one));
      const mixed = await of('part-1', 'part-2', 'part-3', 'part-3');
      expect(mixed.body).toMatchObject({ accepted: 4, rejected: 0 });
      const { batchId, results } = mixed.body;
      expect(batchId).not.toBe(first.body.batchId);
      expect(results.map((result: { batchId?: string | null }) => result.batchId)).toEqual([
        first.body.batchId,
        null,
        undefined,
        undefined,
      ]);
      const shown = await tenant.withKey('GET', `/notify/batch/${batchId}`);
      expect(shown.body).toMatchObject({ batchId, accepted: 4 });
      // Neither of two batches, nor none.
      for (const keys of [['part-1', 'part-3'], ['part-2']]) {
        const { body } = await of(...keys);
        expect([first.body.batchId, batchId]).not.toContain(body.batchId);
        expect(body.accepted).toBe(keys.length);
      }
    });

    it('has its trace in each of its items, and no baggage that would fill the log by being in each', async () => {
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      const seen: unknown[] = [];
      const stop = app.deps.log.tail(['notifications.in-app.high'], ({ event }) => {
        if (event?.type === 'NotificationRequested') seen.push([event.traceparent, event.request.baggage]);
      });
      for (const baggage of ['user=ada', `user=${'x'.repeat(8000)}`]) {
        const headers = { traceparent, baggage };
        const notifications = [item('traced', { priority: 'HIGH' })];
        expect((await tenant.withKey('POST', '/notify/batch', { notifications }, headers)).status).toBe(202);
      }
      stop();
      expect(seen).toEqual([
        [traceparent, 'user=ada'],
        [traceparent, null],
      ]);
    });

    it('of 10,000 items is accepted whole, and counted as one request and its items', async () => {
      const reply = await lines(
        tenant,
        Array.from({ length: batchLimits.itemsMax }, (_, i) => item(`user-${i % 50}`)),
      );
      expect([reply.status, reply.body.accepted, reply.body.rejected]).toEqual([202, batchLimits.itemsMax, 0]);
      expect(new Set(reply.body.results.map((one: { notificationId: string }) => one.notificationId)).size).toBe(
        10_000,
      );
      expect(reply.headers.get('ratelimit')).toMatch(/^"default"/);
    }, 120_000);
  });

  describe('a batch is refused whole', () => {
    const refusal = async (body: unknown, headers: Record<string, string> = {}) => {
      const reply = await tenant.withKey('POST', '/notify/batch', body, headers);
      return [reply.status, reply.body.code];
    };

    it('where nothing of it can be read', async () => {
      expect(await refusal('[1]', { 'content-type': 'application/json' })).toEqual([400, 'BAD_REQUEST']);
      expect(await refusal({ notifications: [] })).toEqual([400, 'BAD_REQUEST']);
      expect(await refusal('\n\n', ndjson)).toEqual([400, 'BAD_REQUEST']);
      expect(await refusal('x', { 'content-type': 'text/plain' })).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
      expect(await refusal({ notifications: [item('x')] }, { 'idempotency-key': 'k' })).toEqual([400, 'BAD_REQUEST']);
    });

    it('where it says that it is too large', async () => {
      const head = ['POST /api/v1/notify/batch HTTP/1.1', 'host: herald', `x-api-key: ${tenant.apiKey}`];
      const rest = ['content-type: application/x-ndjson', `content-length: ${batchLimits.bytesMax + 1}`, '', ''];
      const port = Number(new URL(app.url).port);
      const { statuses } = await rawRequest(port, [...head, ...rest].join('\r\n'), { withinMs: 60_000 });
      expect(statuses).toEqual([413]);
    });

    it('where the log takes nothing', async () => {
      appendInstead = async () => ({ kind: 'refused', reason: 'away' });
      const one = await post(tenant, [item('away')]);
      appendInstead = null;
      expect([one.status, one.headers.get('retry-after')]).toEqual([503, '1']);
    });
  });

  describe('a batch stops', () => {
    it('at the limit of items: what is behind it is not taken, and says so', async () => {
      const own = await startApp({
        delivers: false,
        options: { itemLimit: { limit: 120, windowMs: 60_000 } },
        replace: itemMaker,
      });
      const limited = await own.tenant('limited');
      const reply = await post(
        limited,
        Array.from({ length: 300 }, () => item('limited')),
      );
      expect(reply).toMatchObject({ status: 202, body: { accepted: 120, rejected: 1 } });
      expect(reply.body.results.at(-1)).toMatchObject({ index: 120, code: 'TOO_MANY_REQUESTS' });
      const next = await post(limited, [item('limited')]);
      expect(next.status).toBe(429);
      expect(Number(next.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await post(await own.tenant('another'), [item('free')])).body.accepted).toBe(1);
      await own.close();
    });

    it('there as well where its bytes alone say that an item is none', async () => {
      const options = { itemLimit: { limit: 20, windowMs: 60_000 } };
      const own = await startApp({ delivers: false, options, replace: itemMaker });
      const items = 40;
      const bodies: [string, string | Uint8Array][] = [
        ['application/json', `{"notifications":[${','.repeat(items - 1)}]}`],
        ['application/x-ndjson', Buffer.alloc(2 * items, Buffer.from([0xff, 0x0a]))],
        ['application/x-ndjson', `${'x'.repeat(batchLimits.itemBytesMax + 1)}\n`.repeat(items)],
      ];
      for (const [i, [type, body]] of bodies.entries()) {
        const limited = await own.tenant(`limited-${i}`);
        const reply = await limited.withKey('POST', '/notify/batch', `${JSON.stringify(item('one'))}\n`, ndjson);
        expect(reply.body.accepted).toBe(1);
        const { results } = (await limited.withKey('POST', '/notify/batch', body, { 'content-type': type })).body;
        expect(results.at(-1)).toMatchObject({ index: 19, code: 'TOO_MANY_REQUESTS' });
        expect(results[0].code).not.toBe('TOO_MANY_REQUESTS');
      }
      await own.close();
    });

    it('not at an item whose key is one too many: those without a key, and with one that has begun, are taken', async () => {
      const own = await startApp({
        delivers: false,
        options: { keyLimit: { limit: 2, windowMs: 3_600_000 } },
        replace: itemMaker,
      });
      const limited = await own.tenant('limited');
      const of = (keys: readonly string[]) => keys.map((idempotencyKey) => item('limited', { idempotencyKey }));
      expect((await post(limited, of(['a', 'b']))).body).toMatchObject({ accepted: 2, rejected: 0 });
      const { body } = await post(limited, [...of(['c', 'a']), item('limited')]);
      expect([body.accepted, body.rejected]).toEqual([2, 1]);
      expect(body.results[0]).toMatchObject({ index: 0, code: 'TOO_MANY_REQUESTS' });
      await own.close();
    });

    it('where the log goes away: what was accepted before stays accepted', async () => {
      let appended = 0;
      appendInstead = async (event) => (++appended > 250 ? { kind: 'refused', reason: 'away' } : append(event));
      const reply = await post(
        tenant,
        Array.from({ length: 2000 }, () => item('half')),
      );
      appendInstead = null;
      expect(reply).toMatchObject({ status: 202, body: { accepted: 250 } });
      expect(reply.body.results.at(-1)).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      // Those that were under way with the first that failed, and the one at which it stopped.
      const underWay = intakeLimits.flushesMax * intakeLimits.flushItemsMax;
      expect(reply.body.accepted + reply.body.rejected).toBeLessThanOrEqual(underWay + 1);
      const shown = await tenant.withKey('GET', `/notify/batch/${reply.body.batchId}`);
      expect(shown.body.accepted).toBe(250);
    });

    it('when the log holds it up until the request would be cut: the rest is let through, and its sender told what was accepted', async () => {
      const [up, writing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      timeIsUp = up.promise;
      let waiting = 0;
      appendInstead = async (event) => {
        waiting++;
        await writing.promise;
        return append(event);
      };
      // More than the connection itself holds.
      const items = Array.from({ length: 5000 }, () => item('held-up', { body: 'x'.repeat(2000) }));
      const text = items.map((one) => JSON.stringify(one)).join('\n');
      const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
      let answer = '';
      socket.setEncoding('utf8').on('data', (part: string) => (answer += part));
      const head = [
        'POST /api/v1/notify/batch HTTP/1.1',
        'host: herald',
        `x-api-key: ${tenant.apiKey}`,
        'connection: close',
      ];
      const rest = ['content-type: application/x-ndjson', `content-length: ${text.length}`, '', ''];
      let isSent = false;
      socket.write(`${[...head, ...rest].join('\r\n')}${text}`, () => (isSent = true));
      await until(() => waiting > 0, { what: 'the log to hold it up' });
      expect(isSent).toBe(false);
      up.resolve();
      await until(() => isSent, { what: 'the rest to be let through', timeoutMs: 10_000 });
      expect(answer).toBe('');
      writing.resolve();
      await until(() => socket.readableEnded || socket.destroyed, { what: 'the answer', timeoutMs: 10_000 });
      timeIsUp = appendInstead = null;
      expect(answer).toMatch(/^HTTP\/1.1 202 /);
      const { accepted, rejected, results } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
      // And the batch's own record.
      expect([accepted, rejected]).toEqual([waiting - 1, 1]);
      expect(accepted).toBeLessThan(items.length);
      expect(results.at(-1)).toMatchObject({ index: accepted, code: 'SERVICE_UNAVAILABLE' });
      expect(results.at(-1).error).toContain('This item and whatever is behind it were not taken.');
    });

    it.each([
      ['some of it has come: what was accepted is told', 300, 202],
      ['nothing of it has come', 0, 503],
    ])('when it does not come on: %s', async (_, items, status) => {
      const overdue = Promise.withResolvers<void>();
      isOverdue = overdue.promise;
      const recipient = `stands-${items}`;
      const line = `${JSON.stringify(item(recipient))}\n`;
      const head = ['POST /api/v1/notify/batch HTTP/1.1', 'host: herald', `x-api-key: ${tenant.apiKey}`];
      const rest = ['content-type: application/x-ndjson', 'content-length: 1000000', '', ''];
      const answering = rawRequest(Number(new URL(app.url).port), [...head, ...rest].join('\r\n') + line.repeat(items));
      const there = async () => (await tenant.dashboard('GET', `/notifications?recipient=${recipient}&limit=1`)).body;
      await until(async () => (await there()).pagination.total >= Math.min(items, 250), {
        what: 'what came of it',
        timeoutMs: 10_000,
      });
      overdue.resolve();
      const answer = await answering;
      isOverdue = null;
      expect(answer.statuses).toEqual([status]);
      const body = JSON.parse(answer.text.slice(answer.text.indexOf('\r\n\r\n')));
      if (items > 0) expect([body.accepted, body.rejected]).toEqual([items, 1]);
      const last = items > 0 ? body.results.at(-1) : body;
      expect(last).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      expect(last.error).toMatch(/^The batch took too long to arrive or to be taken in\./);
    });

    it('at a list that breaks off', async () => {
      const body = `{"notifications":[${JSON.stringify(item('broken'))},{"channel":`;
      const reply = await tenant.withKey('POST', '/notify/batch', body, { 'content-type': 'application/json' });
      expect(reply).toMatchObject({ status: 202, body: { accepted: 1, rejected: 1 } });
      expect(reply.body.results[1]).toMatchObject({ index: 1, code: 'BAD_REQUEST' });
    });

    it('when its sender goes: what had come is accepted, and recorded as far as it came', async () => {
      const { port } = new URL(app.url);
      const socket = connect(Number(port), '127.0.0.1');
      const head = ['POST /api/v1/notify/batch HTTP/1.1', 'host: herald', `x-api-key: ${tenant.apiKey}`];
      const rest = ['content-type: application/x-ndjson', 'content-length: 1000000', '', ''];
      const line = `${JSON.stringify(item('gone'))}\n`;
      socket.write([...head, ...rest].join('\r\n') + line.repeat(250));
      const there = async () => (await tenant.dashboard('GET', '/notifications?recipient=gone&limit=1')).body;
      await until(async () => (await there()).pagination.total >= 200, { what: 'two hundreds', timeoutMs: 10_000 });
      socket.destroy();
      const [record] = (
        await until(async () => (await there()).pagination.total === 250 && there(), { timeoutMs: 10_000 })
      ).data;
      const shown = () => tenant.withKey('GET', `/notify/batch/${record.batchId}`);
      await until(async () => (await shown()).body.accepted === 250, { what: 'its record', timeoutMs: 10_000 });
    });
  });
});
