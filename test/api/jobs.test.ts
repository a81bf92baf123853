// A batch cancelled or sent again over the API: who may, what it answers, how far it is, and stopping it.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { openJobsMax } from '../../src/domain/job.ts';
import type { App, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let idle: App;
let sink: HttpSink;
let tenant: Tenant;

beforeAll(async () => {
  sink = await startHttpSink({ respond: (_, response) => response.writeHead(410).end() });
  app = await startApp();
  idle = await startApp({ runsJobs: false });
  tenant = await app.tenant('owner');
}, 240_000);
afterAll(async () => {
  await app.close();
  await idle.close();
  await sink.close();
});

const sendAt = new Date(Date.now() + 3_600_000).toISOString();
const batchOf = async (of: Tenant, failing: number, scheduled: number): Promise<string> => {
  const hook = { channel: 'WEBHOOK', recipient: `${sink.url}/${of.id}`, body: 'x' };
  const later = { channel: 'IN_APP', recipient: 'ada', body: 'x', sendAt };
  const notifications = [
    ...Array.from({ length: failing }, () => hook),
    ...Array.from({ length: scheduled }, () => later),
  ];
  const { batchId } = (await of.withKey('POST', '/notify/batch', { notifications })).body;
  await counts(of, batchId, { FAILED: failing, SCHEDULED: scheduled });
  return batchId;
};
const counts = (of: Tenant, batchId: string, wanted: Record<string, number>) =>
  until(
    async () => {
      const { statusCounts } = (await of.withKey('GET', `/notify/batch/${batchId}`)).body;
      return Object.entries(wanted).every(([status, count]) => statusCounts?.[status] === count);
    },
    { what: JSON.stringify(wanted), timeoutMs: 60_000 },
  );
const over = (of: Tenant, jobId: string): Promise<Reply['body']> =>
  until(
    async () => {
      const { body } = await of.withKey('GET', `/jobs/${jobId}`);
      return body.endedAt !== null && body;
    },
    { what: 'the job to be over', timeoutMs: 60_000 },
  );

describe('a batch', () => {
  it('is sent again, what of it has failed, and a job says how far that is', async () => {
    const batchId = await batchOf(tenant, 130, 10);
    const reply = await tenant.withKey('POST', `/notify/batch/${batchId}/retry`);
    expect(reply).toMatchObject({ status: 202, body: { jobId: expect.stringMatching(/^job_[0-9a-z]{26}$/) } });
    const { jobId } = reply.body;
    expect(reply.headers.get('location')).toBe(`/api/v1/jobs/${jobId}`);
    expect(reply.headers.get('ratelimit')).toMatch(/^"default"/);
    const first = (await tenant.dashboard('GET', `/jobs/${jobId}`)).body;
    expect(first).toMatchObject({ id: jobId, kind: 'retry', total: 130, endedAt: null });
    expect(await over(tenant, jobId)).toEqual({
      id: jobId,
      kind: 'retry',
      state: 'done',
      total: 130,
      done: 130,
      skipped: 0,
      failed: 0,
      startedAt: expect.stringMatching(/Z$/),
      endedAt: expect.stringMatching(/Z$/),
    });
    await until(() => sink.requests.filter(({ path }) => path === `/${tenant.id}`).length === 260, {
      timeoutMs: 60_000,
    });
    await counts(tenant, batchId, { FAILED: 130, SCHEDULED: 10 });
  }, 240_000);

  it('is cancelled, what of it still waits, by a person as well', async () => {
    const other = await app.tenant('cancelling');
    const batchId = await batchOf(other, 3, 120);
    const { status, body } = await other.dashboard('POST', `/notify/batch/${batchId}/cancel`);
    expect(status).toBe(202);
    expect(await over(other, body.jobId)).toMatchObject({ kind: 'cancel', state: 'done', total: 120, done: 120 });
    await counts(other, batchId, { FAILED: 3, CANCELLED: 120, SCHEDULED: 0 });
    const again = await other.withKey('POST', `/notify/batch/${batchId}/cancel`);
    expect(await over(other, again.body.jobId)).toMatchObject({ state: 'done', total: 0, done: 0, skipped: 0 });
  }, 240_000);

  it('that there is not is 404, and so is a job', async () => {
    for (const path of ['/notify/batch/nonsense/cancel', `/notify/batch/batch_${'0'.repeat(26)}/retry`]) {
      const { status, body } = await tenant.withKey('POST', path);
      expect([status, body.error]).toEqual([404, 'There is no such batch.']);
    }
    for (const id of ['nonsense', `job_${'0'.repeat(26)}`])
      for (const method of ['GET', 'DELETE'])
        expect((await tenant.withKey(method, `/jobs/${id}`)).body).toMatchObject({
          code: 'NOT_FOUND',
          error: 'There is no such job.',
        });
  });
});

describe('whatever has failed', () => {
  it('is sent again as far as the filter finds it, at the rate asked for; a dry run counts it and sends nothing', async () => {
    const owner = await app.tenant('filtering');
    const send = async (path: string, more: object = {}) => {
      const hook = { channel: 'WEBHOOK', recipient: `${sink.url}/${owner.id}${path}`, body: 'x', ...more };
      return (await owner.notify(hook)).body.notificationId as string;
    };
    for (let i = 0; i < 30; i++) await send('/old', { metadata: { shop: i % 2 === 0 ? 'a' : 'b' } });
    await send('/old', { channel: 'IN_APP', recipient: 'ada' });
    const failed = async (query: string) =>
      (await owner.dashboard('GET', `/notifications?status=FAILED&limit=1${query}`)).body.pagination.total;
    await until(async () => (await failed('')) === 30, { what: 'all to fail', timeoutMs: 60_000 });
    const ofShop = async (attempts: number) => {
      const { body } = await owner.dashboard('GET', '/notifications?status=FAILED&metadata.shop=a&limit=100');
      return body.data.filter(({ attemptCount }: { attemptCount: number }) => attemptCount === attempts).length;
    };
    await until(async () => (await ofShop(1)) === 15, { what: 'the search', timeoutMs: 60_000 });
    const ask = async (body: object) => owner.dashboard('POST', '/notifications/retry', body);
    const dry = await ask({ filter: { channel: 'WEBHOOK' }, dryRun: true });
    expect(dry).toMatchObject({ status: 202, body: { jobId: null, matching: 30, matchingIsExact: true } });
    expect(dry.headers.has('location')).toBe(false);
    expect((await ask({ filter: { channel: 'EMAIL' }, dryRun: true })).body.matching).toBe(0);
    const arrived = () => sink.requests.filter(({ path }) => path === `/${owner.id}/old`).length;
    expect(arrived()).toBe(30);

    const searched = await ask({ filter: { metadata: { shop: 'a' } }, ratePerSecond: 500 });
    expect(searched.status).toBe(202);
    expect(await over(owner, searched.body.jobId)).toMatchObject({ state: 'done', done: 15, skipped: 0 });
    await until(async () => (await ofShop(2)) === 15, { what: 'half of them', timeoutMs: 60_000 });
    expect(arrived()).toBe(45);
    const all = await ask({ filter: {} });
    expect(all.headers.get('location')).toBe(`/api/v1/jobs/${all.body.jobId}`);
    // Requested after it was asked for.
    await send('/new');
    const { done } = await over(owner, all.body.jobId);
    expect(done).toBe(30);
    await until(() => arrived() === 75, { what: 'all of them', timeoutMs: 60_000 });
    expect(sink.requests.filter(({ path }) => path === `/${owner.id}/new`)).toHaveLength(1);
  }, 240_000);

  it('what is wrong with the filter or the rate is told by its path', async () => {
    for (const [body, path] of [
      [{}, 'filter'],
      [{ filter: { status: 'DELIVERED' } }, 'filter.status'],
      [{ filter: { chanel: 'EMAIL' } }, 'filter.chanel'],
      [{ filter: { limit: 5 } }, 'filter.limit'],
      [{ filter: { metadata: { a: 1 } } }, 'filter.metadata.a'],
      [{ filter: { q: '!' } }, 'q'],
      [{ filter: {}, ratePerSecond: 501 }, 'ratePerSecond'],
      [{ filter: {}, dryRun: 'yes' }, 'dryRun'],
    ] as const) {
      const reply = await tenant.dashboard('POST', '/notifications/retry', body);
      expect([reply.status, reply.body.details[0]?.path]).toEqual([400, path]);
    }
  });
});

describe('who may', () => {
  it('whoever may send may also ask for a job, look at it and stop it; a key that reads may look', async () => {
    const owner = await idle.tenant('with-keys');
    const keyOf = async (...scopes: string[]) => {
      const { body } = await owner.dashboard('POST', '/keys', { name: scopes.join(), scopes });
      return { 'x-api-key': String(body.key) };
    };
    const [notify, read, inbox] = [await keyOf('notify'), await keyOf('read'), await keyOf('inbox')];
    const batch = { notifications: [{ channel: 'IN_APP', recipient: 'ada', body: 'x' }] };
    const { batchId } = (await owner.withKey('POST', '/notify/batch', batch)).body;
    const by = async (headers: Record<string, string>, method: string, path: string) =>
      (await owner.withKey(method, path, undefined, headers)).status;
    const { jobId } = (await owner.withKey('POST', `/notify/batch/${batchId}/retry`, undefined, notify)).body;
    const ways: [string, string][] = [
      ['POST', `/notify/batch/${batchId}/retry`],
      ['POST', `/notify/batch/${batchId}/cancel`],
      ['GET', `/jobs/${jobId}`],
      ['DELETE', `/jobs/${jobId}`],
    ];
    const statuses = async (headers: Record<string, string>) =>
      Promise.all(ways.map(([method, path]) => by(headers, method, path)));
    expect(await statuses(inbox)).toEqual([403, 403, 403, 403]);
    expect(await statuses(read)).toEqual([403, 403, 200, 403]);
    expect(await statuses(notify)).toEqual([202, 202, 200, 200]);
  });
});

describe('stopping', () => {
  it('a job that has not begun is stopped at once, and stays so; others of its tenant go on', async () => {
    const owner = await idle.tenant('stopping');
    const batchId = await batchOf(owner, 5, 0);
    const { jobId } = (await owner.withKey('POST', `/notify/batch/${batchId}/retry`)).body;
    const stopped = await owner.withKey('DELETE', `/jobs/${jobId}`);
    expect(stopped).toMatchObject({ status: 200, body: { id: jobId, state: 'stopped', startedAt: null, done: 0 } });
    expect((await owner.withKey('DELETE', `/jobs/${jobId}`)).body).toEqual(stopped.body);
    expect((await owner.dashboard('GET', `/jobs/${jobId}`)).body).toEqual(stopped.body);
  });

  it('one that is over stays as it is', async () => {
    const batchId = await batchOf(tenant, 1, 0);
    const { jobId } = (await tenant.withKey('POST', `/notify/batch/${batchId}/retry`)).body;
    const done = await over(tenant, jobId);
    expect((await tenant.withKey('DELETE', `/jobs/${jobId}`)).body).toEqual(done);
  });
});

describe('a limit', () => {
  it('holds for the jobs of a tenant that are not over, and for no other tenant', async () => {
    const [full, other] = [await idle.tenant('full'), await idle.tenant('other')];
    const batches = await Promise.all([full, other].map((of) => batchOf(of, 0, 1)));
    const ask = (of: Tenant, kind: string) =>
      of.withKey('POST', `/notify/batch/${batches[of === full ? 0 : 1]}/${kind}`);
    const replies = await Promise.all(
      Array.from({ length: 2 * openJobsMax }, (_, i) => ask(full, i % 2 === 0 ? 'cancel' : 'retry')),
    );
    expect(replies.filter(({ status }) => status === 202)).toHaveLength(openJobsMax);
    const refused = replies.filter(({ status }) => status !== 202);
    for (const { status, body } of refused) {
      expect([status, body.code]).toEqual([409, 'CONFLICT']);
      expect(body.error).toContain(`at most ${openJobsMax} jobs`);
    }
    expect((await ask(other, 'cancel')).status).toBe(202);
    const first = replies.find(({ status }) => status === 202);
    await full.withKey('DELETE', `/jobs/${first?.body.jobId}`);
    expect((await ask(full, 'cancel')).status).toBe(202);
  });

  it('of requests counts a batch that is sent again, as it does whatever sends', async () => {
    const own = await startApp({ runsJobs: false, options: { rateLimit: { limit: 2, windowMs: 60_000 } } });
    const limited = await own.tenant('limited');
    const notifications = [{ channel: 'IN_APP', recipient: 'ada', body: 'x' }];
    const { batchId } = (await limited.withKey('POST', '/notify/batch', { notifications })).body;
    const ask = async (kind: string) => (await limited.withKey('POST', `/notify/batch/${batchId}/${kind}`)).status;
    expect([await ask('retry'), await ask('retry'), await ask('cancel')]).toEqual([202, 429, 202]);
    await own.close();
  });
});
