// herald tenants set: an operator gives a tenant another share, and the running service keeps to it.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

let dataDir: DataDir;
let service: Herald;
let sink: HttpSink;
let inFlight = 0;
let peak = 0;

beforeAll(async () => {
  dataDir = await makeDataDir();
  sink = await startHttpSink({
    respond(_, response) {
      peak = Math.max(peak, ++inFlight);
      setTimeout(() => {
        inFlight--;
        response.end();
      }, 50);
    },
  });
  service = await startHerald(dataDir, { OUTBOUND_ALLOW: '127.0.0.1/32', RATE_LIMIT: '10000/10s' });
});
afterAll(async () => {
  await service.kill();
  await sink.close();
  await dataDir.remove();
});

const set = (...args: string[]) => command(['tenants', 'set', ...args], dataDir.environment);
const tenantId = async () => String((await service.dashboard('GET', '/tenant')).body['id']);

/** How many of a burst were in flight at once, at most. */
async function peakOfBurst(count: number): Promise<number> {
  peak = 0;
  const before = sink.requests.length;
  const posts = Array.from({ length: count }, () =>
    service.notify({ channel: 'WEBHOOK', recipient: sink.url, body: 'x' }),
  );
  for (const { status } of await Promise.all(posts)) expect(status).toBe(202);
  await until(() => sink.requests.length === before + count && inFlight === 0, { what: 'the burst to arrive' });
  return peak;
}

describe('herald tenants set', () => {
  it('is in force on the running service within seconds, and again when it is taken back', async () => {
    expect(await peakOfBurst(30)).toBeGreaterThan(2);
    const { stdout, code } = await set(await tenantId(), '--weight', '3', '--in-flight', '2');
    expect(code).toBe(0);
    expect(stdout).toMatch(/weight 3, 2 attempts in flight/);
    await until(async () => (await peakOfBurst(10)) <= 2, { timeoutMs: 20_000, what: 'two at once at most' });
    expect(await peakOfBurst(30)).toBe(2);
    expect((await set(await tenantId(), '--in-flight', 'default')).stdout).toMatch(/weight 3, as many/);
    await until(async () => (await peakOfBurst(30)) > 2, { timeoutMs: 20_000, what: 'more than two at once' });
  }, 90_000);

  it.each([
    [['tnt_none', '--weight', '2'], 1, 'no tenant tnt_none'],
    [['tnt_none', '--weight', '0'], 2, '--weight: should be a whole number from 1 to 100'],
    [['tnt_none', '--in-flight', '2.5'], 2, '--in-flight: should be a whole number'],
    [['tnt_none'], 2, '--weight, --in-flight or --retention'],
    [[], 2, 'tenants set ID'],
  ] as const)('refuses %j with a sentence', async (args, exitCode, sentence) => {
    const { stderr, code } = await set(...args);
    expect(code).toBe(exitCode);
    expect(stderr).toContain(sentence);
  });
});
