// A read follows its caller's own write: without a header in the process that wrote, by the age of an id in any other.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createApi } from '../../src/api/app.ts';
import { createOwnWrites, ownWriteWaitMs } from '../../src/api/own-writes.ts';
import { listen } from '../../src/api/server.ts';
import { createWaits } from '../../src/api/waits.ts';
import { notificationIdOf, uuidV7Bytes } from '../../src/domain/ids.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { ReadModelReader } from '../../src/ports/read-model-store.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { searchReadModel } from '../../src/projections/search/index.ts';
import { createManualClock } from '../adapters/memory/manual-clock.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let sink: HttpSink;
let tenant: Tenant;

beforeAll(async () => {
  sink = await startHttpSink({ respond: (_, response) => void response.writeHead(400).end() });
  app = await startApp();
  tenant = await app.tenant('own-writer');
});
afterAll(async () => {
  await app.close();
  await sink.close();
});

/** A read that doesn't wait is ahead of the fold most of the time. */
const times = 20;
const inApp = (recipient: string) => ({ channel: 'IN_APP', recipient, subject: 'Hello', body: 'World' });

describe('in the process that took the write, without a header', () => {
  it('the inbox shows what was accepted', async () => {
    for (let i = 0; i < times; i++) {
      const { body } = await tenant.notify(inApp(`ada-${i}`));
      const inbox = await tenant.withKey('GET', `/notify/inapp/ada-${i}`);
      expect(inbox.body.notifications).toMatchObject([{ notificationId: body.notificationId }]);
      expect(inbox.body.unreadCount).toBe(1);
    }
  });

  it('marking all as read marks what was accepted', async () => {
    for (let i = 0; i < times; i++) {
      await tenant.notify(inApp(`bob-${i}`));
      expect((await tenant.withKey('POST', `/notify/inapp/bob-${i}/read`)).body.updated).toBe(1);
    }
  });

  it('its record, the list of a person and the figures have what was accepted', async () => {
    const counted = await app.tenant('counted');
    for (let i = 1; i <= times; i++) {
      const { body } = await counted.notify(inApp('eve'));
      expect((await counted.withKey('GET', `/notify/${body.notificationId}`)).status).toBe(200);
      const list = await counted.dashboard('GET', '/notifications?limit=1');
      expect(list.body.data).toMatchObject([{ id: body.notificationId }]);
      expect((await counted.dashboard('GET', '/dashboard/stats?range=all')).body.total).toBe(i);
    }
  });

  it("isn't listed as FAILED once it was sent again", async () => {
    const failing = await app.tenant('failing');
    for (let i = 0; i < 5; i++) {
      const { body } = await failing.notify({ channel: 'WEBHOOK', recipient: `${sink.url}/hook`, body: 'b' });
      await until(async () => {
        const { body: shown } = await failing.dashboard('GET', `/notifications/${body.notificationId}`);
        return shown.notification?.status === 'FAILED';
      });
      expect((await failing.dashboard('POST', `/notifications/${body.notificationId}/retry`)).status).toBe(202);
      const { body: shown } = await failing.dashboard('GET', `/notifications/${body.notificationId}`);
      // It may have failed once more by now: then it was attempted once more.
      expect([shown.notification.status, shown.notification.attemptCount]).not.toEqual(['FAILED', 1]);
    }
  });
});

describe('in another process, an id of less than 5 s', () => {
  it('is waited for, and one that nobody has is a 404 in the end', async () => {
    const { logger } = app.deps;
    const other = await listen(createApi(app.deps), { host: '127.0.0.1', port: 0, logger });
    const ask = (path: string) =>
      fetch(`http://127.0.0.1:${other.port}/api/v1${path}`, { headers: { 'x-api-key': tenant.apiKey } });
    try {
      for (let i = 0; i < times; i++) {
        const { body } = await tenant.notify(inApp('other'));
        expect((await ask(`/notify/${body.notificationId}`)).status).toBe(200);
      }
      const young = notificationIdOf(uuidV7Bytes(Date.now(), new Uint8Array(10)));
      expect((await ask(`/notify/${young}`)).status).toBe(404);
    } finally {
      await other.close(1000);
    }
  });
});

describe('how long is waited', () => {
  const acme = 'tnt_acme' as TenantId;
  const position = { topic: 'notifications.in-app.default', partition: 3, offset: 7 };

  /** A reader whose read models are at `offset` and never move; counts the questions. */
  function standing(offset: number) {
    const asked: string[] = [];
    const reader = {
      positions: async (name: string) => {
        asked.push(name);
        return new Map([[position.topic, offset]]);
      },
      ahead: async () => null,
      onChange: () => () => {},
    } as Partial<ReadModelReader> as ReadModelReader;
    return { reader, asked };
  }

  it('no longer than until the write is 2 s old, whatever the read model does', async () => {
    const clock = createManualClock();
    const { reader } = standing(0);
    const writes = createOwnWrites({ reader, waits: createWaits({ reader, clock }), clock });
    writes.note(acme, position);
    let isOver = false;
    const read = writes.follow(acme, [notificationsReadModel]).then(() => (isOver = true));
    await until(() => clock.sleepers() === 1);
    clock.advance(ownWriteWaitMs - 1);
    expect([isOver, clock.sleepers()]).toEqual([false, 1]);
    clock.advance(1);
    await read;
    await writes.follow(acme, [notificationsReadModel]);
  });

  it('of many who wait for an inbox four look at a change', async () => {
    const clock = createManualClock();
    let asked = 0;
    let change = () => {};
    const reader = {
      get: async () => new Map(void asked++),
      onChange(_: string, listener: () => void) {
        change = listener;
        return () => {};
      },
    } as Partial<ReadModelReader> as ReadModelReader;
    const writes = createOwnWrites({ reader, waits: createWaits({ reader, clock }), clock });
    writes.noteItem(acme, 'ada', notificationIdOf(uuidV7Bytes(0, new Uint8Array(10))));
    const reads = Array.from({ length: 50 }, () => writes.followInbox(acme, 'ada'));
    await until(() => clock.sleepers() === reads.length);
    const before = asked;
    change();
    await until(() => asked > before && clock.sleepers() === reads.length);
    expect([before, asked - before]).toEqual([50, 4]);
    clock.advance(ownWriteWaitMs);
    await Promise.all(reads);
  });

  it('nothing is asked for other tenants, nor once it was seen, nor of what may lag', async () => {
    const clock = createManualClock();
    const { reader, asked } = standing(8);
    const writes = createOwnWrites({ reader, waits: createWaits({ reader, clock }), clock });
    writes.note(acme, position);
    await writes.follow('tnt_other' as TenantId, [notificationsReadModel]);
    await writes.follow(acme, [searchReadModel]);
    expect(asked).toEqual([]);
    await writes.follow(acme, [notificationsReadModel, inboxReadModel]);
    await writes.follow(acme, [notificationsReadModel, inboxReadModel]);
    expect(asked).toEqual([notificationsReadModel.definition.name, inboxReadModel.definition.name]);
  });

  it('of many that came in any order the newest of each number is waited for', async () => {
    const clock = createManualClock();
    const { reader, asked } = standing(position.offset + 1);
    const writes = createOwnWrites({ reader, waits: createWaits({ reader, clock }), clock });
    writes.noteAll(acme, [position, { ...position, offset: position.offset + 1 }, position]);
    const read = writes.follow(acme, [notificationsReadModel]);
    await until(() => clock.sleepers() === 1);
    expect(asked).not.toEqual([]);
    clock.advance(ownWriteWaitMs);
    await read;
  });

  it('an earlier write of another number is waited for as well', async () => {
    const clock = createManualClock();
    const { reader, asked } = standing(8);
    const writes = createOwnWrites({ reader, waits: createWaits({ reader, clock }), clock });
    writes.note(acme, position);
    writes.note(acme, { ...position, partition: 9 });
    await writes.follow(acme, [notificationsReadModel]);
    expect(asked).toHaveLength(2);
  });
});
