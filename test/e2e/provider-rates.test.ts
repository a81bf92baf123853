// A tenant's own rate for its provider, with much more waiting: what it is sent keeps to it over all processes, and another tenant doesn't notice.
//
//   E2E_FIGURES=1 E2E_RATED_POSTS=5000 E2E_RATED_SECONDS=120 E2E_RATE_WITHIN=0.05 npm test -- test/e2e/provider-rates     and with `npm run test:real --`

import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { engineSet } from '../support/engine-set.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { createPoster, endlessLimits } from '../support/posting.ts';
import { createProvisioner } from '../support/provisioning.ts';
import { until } from '../support/until.ts';

const posts = Number(process.env['E2E_RATED_POSTS'] ?? '1000');
const seconds = Number(process.env['E2E_RATED_SECONDS'] ?? '6');
/** Of its rate it may be sent so much less on a machine that has no time; never more. */
const within = Number(process.env['E2E_RATE_WITHIN'] ?? '1');
const perSecond = 10;
const besideEveryMs = 200;

let dataDir: DataDir;
let services: Herald[];
let sink: HttpSink;
const arrivedAt = { rated: [] as number[], beside: [] as number[] };

beforeAll(async () => {
  dataDir = await makeDataDir();
  sink = await startHttpSink({
    respond({ path }, response) {
      sink.requests.length = 0;
      arrivedAt[path === '/rated' ? 'rated' : 'beside'].push(performance.now());
      response.end();
    },
  });
  const settings = { ...endlessLimits, OUTBOUND_ALLOW: '127.0.0.1/32' };
  services = [await startHerald(dataDir, settings)];
  if (engineSet === 'real') services.push(await startHerald(dataDir, settings));
}, 180_000);
afterAll(async () => {
  await Promise.all(services.map((service) => service.kill()));
  await sink.close();
  await dataDir.remove();
}, 60_000);

it(
  `of ${posts} that wait ${perSecond} a second are sent, by all processes together; another's arrive meanwhile, every one`,
  async () => {
    const [service] = services;
    if (service === undefined) throw new Error('no process runs');
    const provisioner = await createProvisioner(dataDir, service);
    const [rated, other] = [await provisioner.tenant(), await provisioner.tenant()];
    const { status } = await service.call('POST', '/api/v1/providers', {
      headers: { authorization: `Bearer ${rated.bearer}` },
      body: {
        channel: 'WEBHOOK',
        provider: 'custom',
        apiKey: 'a signing secret of the tenant',
        config: { maxPerSecond: perSecond },
        enabled: true,
      },
    });
    expect(status).toBe(200);
    const poster = createPoster();
    const post = async (priority: string) => {
      const notification = { channel: 'WEBHOOK', recipient: `${sink.url}/beside`, priority, body: 'hi' };
      expect((await poster.post({ url: service.url, apiKey: other.apiKey }, notification)).status).toBe(202);
    };
    const waiting = { channel: 'WEBHOOK', recipient: `${sink.url}/rated`, priority: 'BULK', body: 'hi' };
    await poster.postMany({ url: service.url, apiKey: rated.apiKey }, waiting, posts);

    const from = performance.now();
    let beside = 0;
    for (; performance.now() - from < seconds * 1000; beside++) {
      await post(beside % 2 === 0 ? 'HIGH' : 'BULK');
      await sleep(besideEveryMs);
    }
    const to = performance.now();
    await until(() => arrivedAt.beside.length === beside, { timeoutMs: 60_000, what: "the other's" });
    await poster.close();
    const sent = arrivedAt.rated.filter((at) => at >= from && at < to).length;
    const rate = sent / ((to - from) / 1000);
    if (process.env['E2E_FIGURES'] !== undefined) process.stderr.write(`${JSON.stringify({ sent, rate, beside })}\n`);
    expect(arrivedAt.rated.length).toBeLessThan(posts);
    // Windows are of a second, and one may have begun before and one not have ended; one of a busy machine may arrive late.
    expect(sent).toBeLessThanOrEqual(((to - from) / 1000 + 3) * perSecond);
    expect(rate).toBeGreaterThan(perSecond * (1 - within));
  },
  seconds * 3_000 + 240_000,
);
