// One tenant reads and listens as hard as it may; another's notifications are accepted and delivered all the same.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { EventReader } from '../support/event-source.ts';
import { readEvents } from '../support/event-source.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald, token } from '../support/herald.ts';
import { until } from '../support/until.ts';

/** ms, for a machine that does nothing else: 100. Without it each is to be accepted and delivered, however busy the machine is. */
const p99MaxMs = Number(process.env['E2E_BYSTANDER_P99_MS'] ?? Infinity);
const records = 150;
const clients = 10;
const posts = 60;

let dataDir: DataDir;
let service: Herald;
const open: EventReader[] = [];

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startHerald(dataDir, { RATE_LIMIT: '100000/10s', READ_LIMIT: '1000/10s' });
}, 60_000);
afterAll(async () => {
  for (const reader of open) await reader.close();
  await service.stop();
  await dataDir.remove();
}, 60_000);

it('a tenant whose clients loop over the dearest reads and whose streams come back from the beginning stops nobody', async () => {
  const bearer = await token(dataDir, {}, ['--sub', 'bystander']);
  const made = await service.call('POST', '/api/v1/auth/provision-tenant', {
    headers: { authorization: `Bearer ${bearer}` },
  });
  const otherKey = (made.body['tenant'] as { apiKey: string }).apiKey;
  const url = (path: string) => `${service.url}/api/v1${path}`;
  const body = `invoice ${'x y z '.repeat(30_000)}`;
  const large = { channel: 'IN_APP', recipient: 'ada', body };
  for (let i = 0; i < records; i++) expect((await service.notify(large)).status).toBe(202);

  const inbox = await readEvents(url('/notify/inapp/bob/stream'), { 'x-api-key': otherKey });
  open.push(inbox);
  const measured = async () => {
    const accepted: number[] = [];
    const delivered: number[] = [];
    for (let i = 0; i < posts; i++) {
      const startedAt = performance.now();
      const before = inbox.events.length;
      const sent = { channel: 'IN_APP', recipient: 'bob', priority: 'HIGH', body: 'hi' };
      expect((await service.notify(sent, otherKey)).status).toBe(202);
      accepted.push(performance.now() - startedAt);
      await until(() => inbox.events.length > before, { what: 'the item' });
      delivered.push(performance.now() - startedAt);
    }
    return { accepted: percentile(accepted), delivered: percentile(delivered) };
  };
  const alone = await measured();

  const done = new AbortController();
  const counts = new Map<number, number>();
  const own = await token(dataDir);
  const dear = ['page=140&limit=1', 'limit=100', 'channel=SMS', 'q=invoice&channel=SMS', 'q=nothing'];
  const loops = Array.from({ length: clients }, async (_, i) => {
    for (let at = i; !done.signal.aborted; at++) {
      const headers = { authorization: `Bearer ${own}` };
      const answer = await fetch(url(`/notifications?${dear[at % dear.length]}`), { headers });
      await answer.arrayBuffer();
      counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
    }
  });
  const streams = Array.from({ length: 20 }, (_, i) =>
    readEvents(url('/notify/inapp/ada/stream'), { 'x-api-key': service.apiKey, 'last-event-id': `${i - 1}.-1` }),
  );
  open.push(...(await Promise.all(streams)));

  const beside = await measured();
  done.abort();
  await Promise.all(loops);
  console.info(JSON.stringify({ alone, beside, answers: [...counts] }));
  expect(Math.max(beside.accepted, beside.delivered)).toBeLessThan(p99MaxMs);
  expect(counts.get(200) ?? 0).toBeGreaterThan(0);
  const metrics = await (await fetch(`${service.operationsUrl}/metrics`)).text();
  expect(metrics).toMatch(/^herald_tenant_busy_seconds\{tenant="[^"]+"\} [\d.e-]+$/m);
}, 120_000);

function percentile(of: readonly number[]): number {
  return Math.round(of.toSorted((a, b) => a - b)[Math.ceil(of.length * 0.99) - 1] ?? 0);
}
