// The suppression list over the API, and what it does to what is sent.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createClock } from '../../src/adapters/node/clock.ts';
import { followSuppressions } from '../../src/projections/suppressions/follow.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { SmtpSink } from '../support/smtp-sink.ts';
import { startSmtpSink } from '../support/smtp-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let tenant: Tenant;
let sink: SmtpSink;

beforeAll(async () => {
  sink = await startSmtpSink();
  app = await startApp();
  tenant = await app.tenant('owner', { email: 'owner@example.com' });
  const config = { fromName: 'Shop', fromEmail: 'shop@example.com', host: '127.0.0.1', port: sink.port };
  const provider = { channel: 'EMAIL', provider: 'smtp', apiKey: 'the password', config, enabled: true };
  expect((await tenant.dashboard('POST', '/providers', provider)).status).toBe(200);
});
afterAll(async () => {
  await app.close();
  await sink.close();
});

const suppress = (of: Tenant, recipient: string, channel = 'EMAIL') =>
  of.dashboard('POST', '/suppressions', { channel, recipient });
const recordOf = async (id: string) => (await tenant.dashboard('GET', `/notifications/${id}`)).body.notification;

/** The record once it has ended. */
async function sent(recipient: string, more: object = {}) {
  const { status, body } = await tenant.notify({ channel: 'EMAIL', recipient, subject: 's', body: 'b', ...more });
  expect(status).toBe(202);
  const id: string = body.notificationId;
  return until(async () => {
    const record = await recordOf(id);
    return ['DELIVERED', 'FAILED'].includes(record?.status) ? record : null;
  });
}

describe('a suppressed recipient', () => {
  it('is sent nothing: it ends FAILED, class recipient, without a connection to any mail server', async () => {
    expect((await suppress(tenant, 'ada@bücher.example')).status).toBe(201);
    const before = sink.connections();
    for (const recipient of ['ada@bücher.example', 'ADA@xn--bcher-kva.example']) {
      const record = await sent(recipient);
      expect(record).toMatchObject({
        status: 'FAILED',
        attempts: [{ errorClass: 'recipient', errorCode: 'SUPPRESSED' }],
      });
      expect(record.attempts[0].provider).toBe('none');
    }
    expect(sink.connections()).toBe(before);
    expect(await sent('eve@bücher.example')).toMatchObject({ status: 'DELIVERED' });
  });

  it('gets what is transactional, and shows that it was', async () => {
    expect((await suppress(tenant, 'reset@example.com')).status).toBe(201);
    expect(await sent('reset@example.com')).toMatchObject({ status: 'FAILED', transactional: false });
    expect(await sent('reset@example.com', { transactional: true })).toMatchObject({
      status: 'DELIVERED',
      transactional: true,
    });
  });

  it('is left out of the copies of a mail, unless that is transactional', async () => {
    await suppress(tenant, 'copy@example.com');
    const copies = { cc: ['Copy@example.com', 'other@example.com'], bcc: ['copy@example.com'] };
    for (const transactional of [false, true]) {
      const before = sink.mails.length;
      expect(await sent('main@example.com', { ...copies, transactional })).toMatchObject({
        status: 'DELIVERED',
        ...copies,
      });
      const all = ['main@example.com', ...(transactional ? ['Copy@example.com'] : []), 'other@example.com'];
      expect(sink.mails[before]?.to).toEqual(all);
    }
  });

  it('is another tenant’s to send to', async () => {
    const other = await app.tenant('another', { email: 'another@example.com' });
    expect((await suppress(other, 'theirs@example.com')).status).toBe(201);
    expect(await sent('theirs@example.com')).toMatchObject({ status: 'DELIVERED' });
  });

  it('that is released is sent to at once, and what had failed by a retry', async () => {
    const { body: entry } = await suppress(tenant, 'back@example.com');
    const failed = await sent('back@example.com');
    expect(failed.status).toBe('FAILED');
    expect((await tenant.dashboard('DELETE', `/suppressions/${entry.id}`)).status).toBe(200);
    expect(await sent('back@example.com')).toMatchObject({ status: 'DELIVERED' });
    expect((await tenant.dashboard('POST', `/notifications/${failed.id}/retry`)).status).toBe(202);
    await until(async () => (await recordOf(failed.id)).status === 'DELIVERED');
    expect((await tenant.dashboard('DELETE', `/suppressions/${entry.id}`)).status).toBe(404);
  });

  it('stays one for a process that starts anew', async () => {
    const { id } = tenant;
    await suppress(tenant, 'stays@example.com');
    const { body: gone } = await suppress(tenant, 'goes@example.com');
    await tenant.dashboard('DELETE', `/suppressions/${gone.id}`);
    const { log, logger } = app.deps;
    const { list, stop } = await followSuppressions({ log, clock: createClock(), logger }, app.deps.closing);
    stop();
    expect(list.has(id as never, 'EMAIL', 'stays@example.com')).toBe(true);
    expect(list.has(id as never, 'EMAIL', 'goes@example.com')).toBe(false);
    expect(new Set(list.of(id as never))).toEqual(new Set(app.deps.suppressions.of(id as never)));
  });
});

describe('the suppression list', () => {
  it('has one entry for a recipient, whoever asks for it in whichever writing', async () => {
    const first = await suppress(tenant, 'One@Example.com');
    const second = await suppress(tenant, 'one@example.COM');
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(first.body).toEqual({
      id: expect.stringMatching(/^sup_[0-9a-f]{32}$/),
      channel: 'EMAIL',
      recipient: 'one@example.com',
      reason: 'manual',
      createdAt: expect.stringMatching(/Z$/),
    });
    expect(second.body).toEqual(first.body);
  });

  it('is shown newest first, in pages without gap or repeat', async () => {
    const own = await app.tenant('of-pages', { email: 'pages@example.com' });
    const numbers = Array.from({ length: 7 }, (_, i) => `+4917012345${i}`);
    for (const number of numbers) expect((await suppress(own, number, 'SMS')).status).toBe(201);
    const shown: { recipient: string; createdAt: string }[] = [];
    let path = '/suppressions?limit=3';
    for (let pages = 0; pages < 4; pages++) {
      const { status, body } = await own.dashboard('GET', path);
      expect(status).toBe(200);
      shown.push(...body.data);
      if (body.nextCursor === null) break;
      path = `/suppressions?limit=3&cursor=${body.nextCursor}`;
    }
    expect(shown.map(({ recipient }) => recipient).toSorted()).toEqual(numbers);
    expect(shown.map(({ createdAt }) => createdAt)).toEqual(
      shown
        .map(({ createdAt }) => createdAt)
        .toSorted()
        .toReversed(),
    );
  });

  it.each([
    ['no channel', { recipient: 'a@example.com' }, 'channel'],
    ['an unknown channel', { channel: 'FAX', recipient: 'a@example.com' }, 'channel'],
    ['no recipient', { channel: 'EMAIL' }, 'recipient'],
    ['two recipients', { channel: 'EMAIL', recipient: 'a@example.com, b@example.com' }, 'recipient'],
    ['a number without +', { channel: 'SMS', recipient: '4917012345' }, 'recipient'],
    ['a reason, which is ours to say', { channel: 'EMAIL', recipient: 'a@example.com', reason: 'bounce' }, 'reason'],
  ])('refuses %s', async (_, asked, path) => {
    const { status, body } = await tenant.dashboard('POST', '/suppressions', asked);
    expect([status, body.details.map((detail: { path: string }) => detail.path)]).toEqual([400, [path]]);
  });

  it('takes no more than 10,000 entries of a tenant', async () => {
    const full = await startApp({
      delivers: false,
      replace: ({ suppressions }) => ({ suppressions: { ...suppressions, count: () => 10_000 } }),
    });
    const owner = await full.tenant('full', { email: 'full@example.com' });
    expect((await suppress(owner, 'a@example.com')).status).toBe(409);
    await full.close();
  });
});

describe('transactional', () => {
  it('is for mails and text messages alone', async () => {
    const { status, body } = await tenant.notify({
      channel: 'IN_APP',
      recipient: 'ada',
      body: 'b',
      transactional: true,
    });
    expect([status, body.details[0].path]).toEqual([400, 'transactional']);
  });
});
