// More batches at once than are taken in at once: they wait for their turn, and nothing else of their tenant or of another waits for them.

import type { Socket } from 'node:net';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { rawRequest } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const item = { channel: 'IN_APP', recipient: 'user-1', body: 'hi' };
const batch = (of: Tenant) => of.withKey('POST', '/notify/batch', { notifications: [item, item] });

let app: App;
/** While it isn't null batches are appended once it resolves. */
let appending: Promise<void> | null = null;
/** How many wait, as the metric has it. */
let waiting: () => number;

beforeAll(async () => {
  app = await startApp({
    replace: ({ log, metrics }) => ({
      metrics: {
        ...metrics,
        gauge(name, read, labels) {
          if (name === 'herald_batches_waiting') waiting = read;
          metrics.gauge(name, read, labels);
        },
      },
      log: {
        ...log,
        async appendAll(events) {
          await appending;
          return log.appendAll(events);
        },
      },
    }),
  });
});
afterAll(() => app.close());

describe('batches of a tenant', () => {
  it('twelve at once are all accepted; what it reads, and sends by itself, waits for none of them', async () => {
    const tenant = await app.tenant('twelve');
    expect((await tenant.notify(item)).status).toBe(202);
    const log = Promise.withResolvers<void>();
    appending = log.promise;
    const answers = Array.from({ length: 12 }, () => batch(tenant));
    await until(() => waiting() === 8, { what: 'eight to wait behind four' });
    const read = [
      await tenant.dashboard('GET', '/notifications'),
      await tenant.withKey('GET', '/notify/inapp/user-1'),
      await tenant.dashboard('GET', '/templates'),
    ];
    expect(read.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await tenant.notify(item)).status).toBe(202);
    appending = null;
    log.resolve();
    const replies = await Promise.all(answers);
    expect(replies.map(({ status, body }) => [status, body.accepted])).toEqual(replies.map(() => [202, 2]));
    expect(waiting()).toBe(0);
  });
});

describe('batches that wait for longer than a request has to arrive', () => {
  // So much that one whose bodies come is handled by then on a machine that has other work.
  const server = { headersTimeout: 2000, requestTimeout: 2000, connectionsCheckingInterval: 50 };
  let [own, log]: [App, PromiseWithResolvers<void>] = [app, Promise.withResolvers<void>()];
  const closing = new AbortController();
  let ownWaiting: () => number;
  beforeAll(async () => {
    own = await startApp({
      server,
      replace: ({ log: embedded, metrics }) => ({
        closing: closing.signal,
        metrics: {
          ...metrics,
          gauge(name, read, labels) {
            if (name === 'herald_batches_waiting') ownWaiting = read;
            metrics.gauge(name, read, labels);
          },
        },
        log: {
          ...embedded,
          async appendAll(events) {
            await log.promise;
            return embedded.appendAll(events);
          },
        },
      }),
    });
  });
  afterAll(() => own.close());

  /** Longer than the connection holds while nobody reads it. */
  const long = { notifications: Array.from({ length: 5 }, () => ({ ...item, body: 'x'.repeat(200 * 1024) })) };
  /** Once one that waits for nobody was cut. */
  const timePasses = async ({ apiKey }: Tenant) => {
    const head = [
      'POST /api/v1/notify HTTP/1.1',
      'host: herald',
      `x-api-key: ${apiKey}`,
      'content-type: application/json',
    ];
    await until(
      () =>
        new Promise<boolean>((resolve) => {
          const socket = connect(Number(new URL(own.url).port), '127.0.0.1');
          let answer = '';
          socket.on('data', (part) => (answer += String(part))).on('error', () => undefined);
          socket.on('close', () => resolve(answer.includes(' 408 ')));
          socket.write([...head, 'content-length: 9', '', ''].join('\r\n'));
        }),
      { what: 'a request that does not come to be cut', timeoutMs: 10_000 },
    );
  };

  it('are taken in at their turn; once the service stops who still waits is told at once', async () => {
    const tenant = await own.tenant('patient');
    const send = () => tenant.withKey('POST', '/notify/batch', long);
    const answers = Array.from({ length: 6 }, send);
    await until(() => ownWaiting() === 2, { what: 'two to wait behind four' });
    await timePasses(tenant);
    log.resolve();
    expect((await Promise.all(answers)).map(({ status, body }) => [status, body.accepted])).toEqual(
      answers.map(() => [202, 5]),
    );
    log = Promise.withResolvers();
    const last = Array.from({ length: 6 }, send);
    await until(() => ownWaiting() === 2, { what: 'two to wait again' });
    closing.abort();
    const refused = await Promise.race(last.map((answer) => answer.then(({ status }) => status)));
    log.resolve();
    expect(refused).toBe(503);
    const statuses = (await Promise.all(last)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([202, 202, 202, 202, 503, 503]);
  });

  it('one that is being taken in has two seconds more then, and its sender is told what was accepted', async () => {
    const tenant = await own.tenant('late');
    const head = ['POST /api/v1/notify/batch HTTP/1.1', 'host: herald', `x-api-key: ${tenant.apiKey}`];
    const rest = ['content-type: application/x-ndjson', 'content-length: 1000000', '', ''];
    const lines = `${JSON.stringify(item)}\n`.repeat(300);
    const answer = await rawRequest(Number(new URL(own.url).port), [...head, ...rest].join('\r\n') + lines);
    expect(answer.statuses).toEqual([202]);
    const { accepted, results } = JSON.parse(answer.text.slice(answer.text.indexOf('\r\n\r\n')));
    expect(accepted).toBeGreaterThanOrEqual(250);
    expect(results.at(-1)).toMatchObject({ index: accepted, code: 'SERVICE_UNAVAILABLE' });
    expect(results.at(-1).error).toMatch(/^The service stops\./);
  });
});

describe('batches of several tenants whose bodies do not come', () => {
  const stalled: Socket[] = [];
  afterAll(() => {
    for (const socket of stalled) socket.destroy();
  });

  it("leave another's notification its room, and its batch is taken in once one of them is over", async () => {
    const stall = (of: Tenant) => {
      const head = ['POST /api/v1/notify/batch HTTP/1.1', 'host: herald', `x-api-key: ${of.apiKey}`];
      const rest = ['content-type: application/x-ndjson', 'content-length: 100000', '', ''];
      const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write([...head, ...rest].join('\r\n'));
      stalled.push(socket);
    };
    // Each as many as are still free for it, and one more that waits.
    for (const [i, places] of [4, 2, 1, 1].entries()) {
      const slow = await app.tenant(`slow-${i}`);
      for (let n = 0; n <= places; n++) stall(slow);
      await until(() => waiting() === i + 1, { what: `the one of slow-${i} that waits` });
    }
    const other = await app.tenant('quick');
    expect((await other.notify({ ...item, body: 'x'.repeat(190 * 1024) })).status).toBe(202);
    const answer = batch(other);
    await until(() => waiting() === 5, { what: 'its batch to wait' });
    for (const socket of stalled) socket.destroy();
    expect(await answer).toMatchObject({ status: 202, body: { accepted: 2 } });
  });
});
