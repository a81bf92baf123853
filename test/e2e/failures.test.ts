// What goes wrong at the receiver: retried when it can work, ended when it can't, and never before its time.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import { engineSet } from '../support/engine-set.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { recordOf } from '../support/records.ts';
import { until } from '../support/until.ts';

const settings = { RETRY_DELAYS: '1s,1s,1s', ATTEMPT_DEADLINE: '2s' };
/** Time enough for a restart. */
const aheadMs = engineSet === 'embedded' ? 10_000 : 20_000;
/** How late it may come: on a busy machine the new process has not joined its groups yet when the time comes. */
const lateMs = engineSet === 'embedded' ? 1000 : 10_000;
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;
const arrivals = new Map<string, number[]>();

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld((request, response) => {
    const times = arrivals.get(request.path) ?? [];
    arrivals.set(request.path, [...times, Date.now()]);
    const tries = times.length + 1;
    const [, way = ''] = request.path.split('/');
    if (way === 'broken-once' && tries === 1) response.writeHead(500).end('out of order');
    else if (way === 'refusing') response.writeHead(400).end('no such hook');
    else if (way === 'refusing-once' && tries === 1) response.writeHead(410).end('gone');
    else if (way === 'redirecting') response.writeHead(302, { location: `${world.webhooks.url}/target` }).end();
    else if (way === 'busy' && tries === 1) response.writeHead(429, { 'retry-after': '3' }).end();
    else if (way === 'always-broken') response.writeHead(503).end('maintenance');
    else if (way !== 'hanging-once' || tries > 1) response.end('thanks');
  });
  service = await startHerald(dataDir, { ...world.environment, ...settings });
  await world.configure(service);
});
afterAll(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
});

async function send(path: string, more: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await service.notify({
    channel: 'WEBHOOK',
    recipient: `${world.webhooks.url}/${path}`,
    body: 'hi',
    ...more,
  });
  if (status !== 202) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return String(body['notificationId']);
}

function comesTo(id: string, status: string, timeoutMs = 15_000) {
  return until(
    async () => {
      const record = await recordOf(service, id);
      return record?.status === status && record;
    },
    { timeoutMs, what: `${id} to be ${status}` },
  );
}

async function attemptsOf(id: string): Promise<Record<string, unknown>[]> {
  return (await service.dashboard('GET', `/notifications/${id}/attempts`)).body['attempts'] as Record<
    string,
    unknown
  >[];
}

describe('a receiver', () => {
  it('that answers 500, then 200: RETRYING, then DELIVERED with two attempts', async () => {
    const id = await send('broken-once/1');
    expect(await comesTo(id, 'RETRYING')).toMatchObject({ attemptCount: 1, nextRetryAt: expect.any(String) });
    expect(await comesTo(id, 'DELIVERED')).toMatchObject({ attemptCount: 2, nextRetryAt: null });
    expect(await attemptsOf(id)).toMatchObject([
      { attemptNumber: 1, status: 'FAILED', errorCode: '500', errorClass: 'provider' },
      { attemptNumber: 2, status: 'DELIVERED', error: null },
    ]);
    const ids = world.webhooks.requests
      .filter((request) => request.path === '/broken-once/1')
      .map(({ headers }) => headers['webhook-id']);
    expect(ids).toEqual([id, id]);
  });

  it('that answers 400: FAILED after one', async () => {
    const record = await comesTo(await send('refusing/1'), 'FAILED');
    expect(record).toMatchObject({ attemptCount: 1, attempts: [{ errorClass: 'recipient', errorCode: '400' }] });
  });

  it('that redirects: FAILED, and never followed', async () => {
    await comesTo(await send('redirecting/1'), 'FAILED');
    expect(arrivals.get('/target')).toBeUndefined();
  });

  it('that answers 429 with Retry-After 3 is not asked again before 3 s', async () => {
    await comesTo(await send('busy/1'), 'DELIVERED');
    const [first = 0, second = 0] = arrivals.get('/busy/1') ?? [];
    expect(second - first).toBeGreaterThanOrEqual(2990);
    expect(second - first).toBeLessThan(6000);
  });

  it('that hangs is cut at the deadline and asked again; PROCESSING shows meanwhile', async () => {
    const id = await send('hanging-once/1');
    await comesTo(id, 'PROCESSING');
    await comesTo(id, 'DELIVERED');
    expect(await attemptsOf(id)).toMatchObject([{ status: 'FAILED', errorClass: 'network' }, { status: 'DELIVERED' }]);
    const [first = 0, second = 0] = arrivals.get('/hanging-once/1') ?? [];
    expect(second - first).toBeGreaterThan(2900);
  });

  it('that never works: FAILED when the table is used up', async () => {
    const id = await send('always-broken/1');
    expect(await comesTo(id, 'FAILED')).toMatchObject({ attemptCount: 4, nextRetryAt: null });
    expect(arrivals.get('/always-broken/1')).toHaveLength(4);
  });
});

describe('a failed one retried by hand', () => {
  it('is delivered in a new round, its attempts numbered on', async () => {
    const id = await send('refusing-once/1');
    await comesTo(id, 'FAILED');
    const retried = await service.dashboard('POST', `/notifications/${id}/retry`);
    expect(retried.status).toBe(202);
    expect(await comesTo(id, 'DELIVERED')).toMatchObject({ attemptCount: 2 });
    expect(await attemptsOf(id)).toMatchObject([{ attemptNumber: 1 }, { attemptNumber: 2, status: 'DELIVERED' }]);
    expect((await service.dashboard('POST', `/notifications/${id}/retry`)).status).toBe(409);
  });
});

describe('cancelling', () => {
  it('stops a SCHEDULED one and a RETRYING one; nothing is sent afterwards', async () => {
    const scheduled = await send('scheduled/never', { sendAt: new Date(Date.now() + 2500).toISOString() });
    await comesTo(scheduled, 'SCHEDULED');
    const cancelled = await service.dashboard('POST', `/notifications/${scheduled}/cancel`);
    expect(cancelled.status).toBe(200);
    expect(cancelled.body['notification']).toMatchObject({ id: scheduled, status: 'CANCELLED' });
    const retrying = await send('busy/cancelled');
    await comesTo(retrying, 'RETRYING');
    expect((await service.dashboard('POST', `/notifications/${retrying}/cancel`)).status).toBe(200);
    // A later one through the same timers is proof that the cancelled ones' time has passed.
    await comesTo(await send('scheduled/after', { sendAt: new Date(Date.now() + 3500).toISOString() }), 'DELIVERED');
    expect(arrivals.get('/scheduled/never')).toBeUndefined();
    expect(arrivals.get('/busy/cancelled')).toHaveLength(1);
    expect((await service.dashboard('POST', `/notifications/${scheduled}/cancel`)).status).toBe(409);
  });
});

describe('sendAt', () => {
  it('ahead: SCHEDULED, then delivered at its time, also when the service was restarted in between', async () => {
    const sendAt = Date.now() + aheadMs;
    const id = await send('scheduled/1', { sendAt: new Date(sendAt).toISOString() });
    expect(await comesTo(id, 'SCHEDULED')).toMatchObject({
      attemptCount: 0,
      scheduledAt: new Date(sendAt).toISOString(),
    });
    await service.stop();
    service = await startHerald(dataDir, { ...world.environment, ...settings });
    expect(await recordOf(service, id)).toMatchObject({ status: 'SCHEDULED' });
    await comesTo(id, 'DELIVERED', aheadMs + lateMs + 10_000);
    const [arrived = 0] = arrivals.get('/scheduled/1') ?? [];
    expect(arrived - sendAt).toBeGreaterThanOrEqual(0);
    expect(arrived - sendAt).toBeLessThan(lateMs);
    expect(arrivals.get('/scheduled/1')).toHaveLength(1);
  });
});
