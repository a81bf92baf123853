// How long what is kept is kept: a tenant's own, shorter retention beside another tenant's, and the days that are counted, until RETENTION_STATISTICS has ended.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Environment, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald, token } from '../support/herald.ts';
import { until } from '../support/until.ts';

const many = 5;
const dayMs = 24 * 60 * 60 * 1000;
const inApp = { channel: 'IN_APP', recipient: 'ada', body: 'Hello' };

let dataDir: DataDir;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir();
}, 60_000);
afterAll(async () => {
  await service?.kill();
  await dataDir.remove();
}, 60_000);

interface Caller {
  readonly apiKey: string;
  readonly bearer: string;
}

/** The demo tenant's owner, or one of a tenant of their own. */
async function callerOf(environment: Environment, ...args: string[]): Promise<Caller> {
  const bearer = await token(dataDir, environment, args);
  const headers = { authorization: `Bearer ${bearer}` };
  const { body, status } = await service.call('POST', '/api/v1/auth/provision-tenant', { headers });
  expect(status).toBe(200);
  return { bearer, apiKey: (body['tenant'] as { apiKey: string }).apiKey };
}

async function post(apiKey: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { status, body } = await service.notify({ ...inApp, ...more }, apiKey);
  expect(status).toBe(202);
  return String(body['notificationId']);
}

async function get(bearer: string, path: string): Promise<Record<string, unknown>> {
  const { status, body } = await service.call('GET', `/api/v1${path}`, {
    headers: { authorization: `Bearer ${bearer}` },
  });
  expect(status).toBe(200);
  return body;
}

const records = async ({ bearer }: Caller): Promise<number> => {
  const { pagination } = await get(bearer, '/notifications?limit=1');
  return (pagination as { total: number }).total;
};

/** By the days, which are all that is left of what is forgotten. */
async function counted({ bearer }: Caller): Promise<number> {
  return Number((await get(bearer, '/dashboard/stats?range=all'))['total']);
}

const statusOf = async (apiKey: string, id: string) =>
  (await service.call('GET', `/api/v1/notify/${id}`, { headers: { 'x-api-key': apiKey } })).status;

/** Its clock is ahead, its engines' aren't. */
function ahead(ms: number): Environment {
  const code = `const D=Date;globalThis.Date=class extends D{constructor(...of){if(of.length===0)super(D.now()+${ms});else super(...of)}static now(){return D.now()+${ms}}}`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

const patience = { timeoutMs: 90_000, everyMs: 250 };

it('a tenant whose own retention is shorter loses what has ended and nothing that waits, its days go on counting it, and another tenant loses nothing', async () => {
  service = await startHerald(dataDir);
  const [short, other] = [await callerOf({}), await callerOf({}, '--sub', 'other')];
  const { id } = await get(short.bearer, '/tenant');
  const sendAt = new Date(Date.now() + dayMs).toISOString();
  const waits = await post(short.apiKey, { sendAt });
  const ended: string[] = [];
  for (let n = 0; n < many; n++) ended.push(await post(short.apiKey));
  const kept = await Promise.all(Array.from({ length: many }, () => post(other.apiKey)));
  await until(async () => (await records(short)) === many + 1, { ...patience, what: 'the records' });
  const set = await command(['tenants', 'set', String(id), '--retention', '10s'], dataDir.environment);
  expect(set).toMatchObject({ code: 0 });
  // It is looked for once a minute where nothing was to go before.
  await until(async () => (await records(short)) === 1, { ...patience, what: 'what has ended to be forgotten' });
  expect(await Promise.all(ended.map((one) => statusOf(short.apiKey, one)))).toEqual(ended.map(() => 404));
  expect(await statusOf(short.apiKey, waits)).toBe(200);
  expect(await counted(short)).toBe(many + 1);
  expect([await records(other), await counted(other)]).toEqual([many, many]);
  expect(await Promise.all(kept.map((one) => statusOf(other.apiKey, one)))).toEqual(kept.map(() => 200));
  await service.stop();
  const { code, stdout, stderr } = await command(['rebuild'], dataDir.environment);
  expect({ code, said: stdout + stderr }).toEqual({ code: 0, said: expect.not.stringContaining('NOT equal') });
  service = await startHerald(dataDir);
  expect([await records(short), await counted(short)]).toEqual([1, many + 1]);
}, 240_000);

it('days are counted until RETENTION_STATISTICS has ended, and a rebuild is equal then', async () => {
  await service.stop();
  const settings = { RETENTION: '10s', RETENTION_STATISTICS: '1d' };
  service = await startHerald(dataDir, settings);
  const other = await callerOf(settings, '--sub', 'other');
  await until(async () => (await records(other)) === 0, { ...patience, what: 'what has ended to be forgotten' });
  expect(await counted(other)).toBe(many);
  await service.stop();
  const later = { ...settings, ...ahead(3 * dayMs) };
  service = await startHerald(dataDir, later);
  const again = await callerOf(later, '--sub', 'other');
  await until(async () => (await counted(again)) === 0, { ...patience, what: 'the day to be counted no longer' });
  // As soon as a day is counted no longer: what told of it may go before what it told of, which is behind what waited.
  await service.stop();
  const { code, stdout, stderr } = await command(['rebuild'], { ...dataDir.environment, ...settings });
  expect({ code, said: stdout + stderr }).toEqual({ code: 0, said: expect.not.stringContaining('NOT equal') });
}, 300_000);
