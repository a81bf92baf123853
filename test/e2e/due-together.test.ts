// A tenant's campaign is due in one moment: what another one of its partition numbers has scheduled for then, and tries again, doesn't wait until all of it is sent.
//
//   E2E_FIGURES=1 E2E_DUE_POSTS=100000 E2E_DUE_BESIDE=100 E2E_DUE_AHEAD_MS=50000 npm test -- test/e2e/due-together     with `npm run test:real --` on the others

import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { Flood } from '../support/flood.ts';
import { startFlood } from '../support/flood.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import type { Poster } from '../support/posting.ts';
import { createPoster, endlessLimits } from '../support/posting.ts';
import { createProvisioner, webhookNumbers } from '../support/provisioning.ts';
import type { TestTenant } from '../support/provisioning.ts';
import { until } from '../support/until.ts';

const campaignPosts = Number(process.env['E2E_DUE_POSTS'] ?? '10000');
/** Of the other's, scheduled and tried again as many. */
const besidePosts = Number(process.env['E2E_DUE_BESIDE'] ?? '10');
const besideEveryMs = 100;
/** Enough for all of the campaign to wait by then. */
const aheadMs = Number(process.env['E2E_DUE_AHEAD_MS'] ?? '10000');
/** The other's first failure, and all of its next ones. */
const retryMs = 1_000;

let dataDir: DataDir;
let service: Herald;
let flood: Flood;
let sink: HttpSink;
let poster: Poster;
/** Of each of the other's, by its body: when it came (a second time, where the first was refused), and what of the campaign had come by then. */
const arrived = new Map<string, { readonly at: number; readonly ofCampaign: number }>();
const refusedAt = new Map<string, number>();

beforeAll(async () => {
  dataDir = await makeDataDir();
  flood = await startFlood({ sinkMs: 5 });
  sink = await startHttpSink({
    respond({ body: text }, response) {
      const { body } = (JSON.parse(text) as { data: { body: string } }).data;
      const isRefused = body.startsWith('again') && !refusedAt.has(body);
      if (isRefused) refusedAt.set(body, Date.now());
      else arrived.set(body, { at: Date.now(), ofCampaign: flood.arrived() });
      response.writeHead(isRefused ? 503 : 200).end();
    },
  });
  service = await startHerald(dataDir, {
    ...endlessLimits,
    OUTBOUND_ALLOW: '127.0.0.1/32',
    RETRY_DELAYS: `${retryMs}ms`,
  });
  poster = createPoster();
}, 120_000);
afterAll(async () => {
  await service.kill();
  await Promise.all([flood.close(), sink.close(), poster.close()]);
  await dataDir.remove();
}, 60_000);

it("thousands of one tenant are due at once: another's on the same numbers are sent at their times", async () => {
  const [sender, other] = await twoOnTheSameNumbers();
  const dueAt = Date.now() + aheadMs;
  const notification = { channel: 'WEBHOOK', priority: 'BULK', body: 'campaign', sendAt: timeOf(dueAt) };
  await flood.post({ url: service.url, apiKey: sender.apiKey, notification, count: campaignPosts });
  await sleep(Math.max(0, dueAt - Date.now()));

  const sendAts = new Map<string, number>();
  const posts = [];
  for (let i = 0; i < besidePosts; i++) {
    const scheduled = `scheduled ${i}`;
    const sendAt = Date.now() + besideEveryMs;
    sendAts.set(scheduled, sendAt);
    posts.push(post(other, { body: scheduled, sendAt: timeOf(sendAt) }), post(other, { body: `again ${i}` }));
    await sleep(besideEveryMs);
  }
  await Promise.all(posts);
  await until(() => arrived.size === 2 * besidePosts, { timeoutMs: 240_000, everyMs: 20, what: "all of the other's" });

  const late = [...sendAts].map(([body, sendAt]) => (arrived.get(body)?.at ?? Infinity) - sendAt);
  const again = [...refusedAt].map(([body, at]) => (arrived.get(body)?.at ?? Infinity) - at - retryMs);
  const ofCampaign = Math.max(...[...arrived.values()].map((one) => one.ofCampaign));
  tell({ late: percentiles(late), again: percentiles(again), ofCampaign });
  expect(refusedAt.size).toBe(besidePosts);
  expect(ofCampaign).toBeLessThan(campaignPosts * 0.6);
}, 600_000);

async function twoOnTheSameNumbers(): Promise<readonly [TestTenant, TestTenant]> {
  const provisioner = await createProvisioner(dataDir, service);
  const first = await provisioner.tenant();
  const numbers = webhookNumbers(first.id);
  for (;;) {
    const tenant = await provisioner.tenant();
    if ([...webhookNumbers(tenant.id)].every((number) => numbers.has(number))) return [first, tenant];
  }
}

async function post(tenant: TestTenant, notification: object): Promise<void> {
  const { status } = await poster.post(
    { url: service.url, apiKey: tenant.apiKey },
    { channel: 'WEBHOOK', recipient: sink.url, priority: 'HIGH', ...notification },
  );
  if (status !== 202) throw new Error(`answered ${String(status)}`);
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function percentiles(values: readonly number[]): object {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1];
  return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) };
}

function tell(figures: object): void {
  if (process.env['E2E_FIGURES'] !== undefined) process.stderr.write(`${JSON.stringify(figures)}\n`);
}
