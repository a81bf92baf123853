// More batches at once than are taken in at once: they wait for their turn, and nothing else of their tenant or of another waits for them.

import type { Socket } from 'node:net';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
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
