// What operations see of the real process: its metrics as documented, its canonical log lines, one trace from a request to every webhook that follows.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { documentedMetrics } from '../support/documented-metrics.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald, token } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

let dataDir: DataDir;
let service: Herald;
let sink: HttpSink;
/** Before anything has happened. */
let firstPage: string;

beforeAll(async () => {
  // The path says how often the receiver fails before it takes a webhook.
  const asked = new Map<string, number>();
  sink = await startHttpSink({
    respond({ path }, response) {
      const times = asked.get(path) ?? 0;
      asked.set(path, times + 1);
      response.writeHead(times < Number(/fails-(\d)/.exec(path)?.[1] ?? '0') ? 503 : 200).end();
    },
  });
  dataDir = await makeDataDir();
  service = await startHerald(dataDir, { OUTBOUND_ALLOW: '127.0.0.1/32', RETRY_DELAYS: '100ms', LOG_LEVEL: 'debug' });
  firstPage = await (await fetch(`${service.operationsUrl}/metrics`)).text();
}, 120_000);

afterAll(async () => {
  await service.stop();
  await sink.close();
  await dataDir.remove();
});

const traceOf = (digit: string) => `00-${digit.repeat(32)}-00f067aa0ba902b7-01`;

/** What tracing sends along with a traceparent: told apart by it. */
const beside = (traceparent: string) => ({ tracestate: `of=${traceparent}`, baggage: `of=${traceparent};p=1, x=y` });

const send = async (path: string, traceparent: string, more: Record<string, unknown> = {}): Promise<string> => {
  const answer = await service.call('POST', '/api/v1/notify', {
    headers: { 'x-api-key': service.apiKey, traceparent, ...beside(traceparent) },
    body: { channel: 'WEBHOOK', recipient: `${sink.url}/${path}`, body: 'there', ...more },
  });
  expect(answer.status).toBe(202);
  return String(answer.body['notificationId']);
};

const webhooks = (path: string, count: number) =>
  until(
    () => {
      const found = sink.requests.filter((request) => request.path === `/${path}`);
      return found.length >= count && found;
    },
    { timeoutMs: 20_000, what: `${count} webhooks at ${path}` },
  );

const lines = (message: string) =>
  service
    .logs()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line['msg'] === message);

const traces = (requests: readonly { readonly headers: Readonly<Record<string, unknown>> }[]) =>
  new Set(requests.map(({ headers }) => headers['traceparent']));
const besides = (requests: Parameters<typeof traces>[0]) =>
  requests.map(({ headers }) => ({ tracestate: headers['tracestate'], baggage: headers['baggage'] }));

describe('a traceparent', () => {
  it('goes from the request to the webhook, through a retry and a sendAt', async () => {
    await send('now', traceOf('a'));
    await send('retried-fails-1', traceOf('b'));
    await send('later', traceOf('c'), { sendAt: new Date(Date.now() + 300).toISOString() });
    expect(traces(await webhooks('now', 1))).toEqual(new Set([traceOf('a')]));
    expect(traces(await webhooks('retried-fails-1', 2))).toEqual(new Set([traceOf('b')]));
    expect(traces(await webhooks('later', 1))).toEqual(new Set([traceOf('c')]));
  });

  it('takes tracestate and baggage along, through a retry and a sendAt', async () => {
    const retried = await webhooks('retried-fails-1', 2);
    expect(besides(retried)).toEqual([beside(traceOf('b')), beside(traceOf('b'))]);
    expect(besides(await webhooks('later', 1))).toEqual([beside(traceOf('c'))]);
  });

  it('of a retry by hand is that of the request for it', async () => {
    const id = await send('by-hand-fails-2', traceOf('d'));
    await until(async () => {
      const { body } = await service.dashboard('GET', `/notifications/${id}`);
      return (body['notification'] as Record<string, unknown> | undefined)?.['status'] === 'FAILED';
    });
    const headers = { authorization: `Bearer ${await token(dataDir)}`, traceparent: traceOf('e'), tracestate: 'e=1' };
    const retry = await service.call('POST', `/api/v1/notifications/${id}/retry`, { headers });
    expect(retry.status).toBe(202);
    const all = await webhooks('by-hand-fails-2', 3);
    expect(all.map(({ headers: sent }) => sent['traceparent'])).toEqual([traceOf('d'), traceOf('d'), traceOf('e')]);
    const none = { tracestate: 'e=1', baggage: undefined };
    expect(besides(all)).toEqual([beside(traceOf('d')), beside(traceOf('d')), none]);
  });

  it('is in the lines of the request and of each attempt', async () => {
    await webhooks('retried-fails-1', 2);
    const traceId = 'b'.repeat(32);
    await until(() => lines('attempt').filter((line) => line['traceId'] === traceId).length === 2);
    expect(lines('request').filter((line) => line['traceId'] === traceId)).toHaveLength(1);
  });
});

describe('the canonical lines', () => {
  it('have the documented fields, one line a request and one an attempt', async () => {
    const before = lines('request').length;
    const found = await service.call('GET', '/api/v1/notify/notif_00000000000000000000000000', {
      headers: { 'x-api-key': service.apiKey },
    });
    await until(() => lines('request').length > before);
    const request = lines('request').at(-1);
    expect(request).toEqual({
      level: expect.anything(),
      time: expect.any(String),
      pid: expect.any(Number),
      msg: 'request',
      requestId: found.body['requestId'],
      traceId: null,
      method: 'GET',
      route: '/notify/:id',
      status: 404,
      tenantId: expect.stringMatching(/^tnt_/),
      ms: expect.any(Number),
      code: 'NOT_FOUND',
      fields: [],
    });
    expect(found.headers.get('x-request-id')).toBe(found.body['requestId']);
    const failed = await until(() => lines('attempt').find((line) => line['outcome'] === 'retrying'));
    const fields =
      'level time pid msg traceId channel tenantId notificationId provider round attempt waitedMs tookMs outcome failureClass code retryAt';
    expect(Object.keys(failed).toSorted()).toEqual(fields.split(' ').toSorted());
  });
});

describe('the metrics', () => {
  it('count from 0 for every label that is known before its first event', () => {
    const known = (name: string) =>
      [...firstPage.matchAll(new RegExp(`^${name}(?:\\{([^}]*)\\})? 0$`, 'gm'))].map(([, labels = '']) =>
        labels.split(',').toSorted().join(','),
      );
    const counters = [...documentedMetrics()].filter(([, { kind }]) => kind === 'counter').map(([name]) => name);
    expect(counters.filter((name) => known(name).length === 0)).toEqual([]);
    const attempts = known('herald_attempts_total');
    expect(attempts).toContain('channel="EMAIL",class="system",outcome="failed",provider="resend"');
    expect(attempts).toContain('channel="WEBHOOK",class="none",outcome="delivered",provider="custom"');
    expect(known('herald_dead_letters_total')).toContain('topic="notifications.webhook.high"');
    expect(known('herald_fold_failures_total')).toContain('read_model="inbox_2"');
    expect(known('herald_streams_ended_total')).toContain('reason="slow"');
    expect(known('herald_http_requests_total')).toContain('method="POST",route="/notify",status="503"');
  });

  it('of the running service are the documented ones with the documented labels, and count what happened', async () => {
    const page = await (await fetch(`${service.operationsUrl}/metrics`)).text();
    const documented = documentedMetrics();
    const named = new Set([...page.matchAll(/^# TYPE (herald_\w+) /gm)].map(([, name = '']) => name));
    expect([...named].toSorted()).toEqual([...documented.keys()].toSorted());
    for (const [, sample = '', labels = ''] of page.matchAll(/^(herald_\w+)(?:\{([^}]*)\})? /gm)) {
      const name = documented.has(sample) ? sample : sample.replace(/_(?:bucket|sum|count)$/, '');
      const given = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label).filter((label) => label !== 'le');
      expect([name, given.toSorted()]).toEqual([name, documented.get(name)?.labels.toSorted()]);
    }
    for (const line of [
      /^herald_attempts_total\{[^}]*class="provider"[^}]*\} [1-9]/m,
      /^herald_attempts_total\{[^}]*outcome="delivered"[^}]*\} [1-9]/m,
      /^herald_timers_fired_total [1-9]/m,
      /^herald_timer_late_seconds_count [1-9]/m,
      /^herald_event_loop_delay_seconds\{thread="main"\} /m,
      /^herald_event_loop_delay_seconds\{thread="projectors"\} /m,
      /^herald_projector_lag\{read_model="timers"\} /m,
      /^herald_lane_age_seconds\{channel="WEBHOOK",lane="high"\} 0/m,
      /^herald_outbound_in_flight 0/m,
    ])
      expect(page).toMatch(line);
    // Tenants are named where it is asked which of them takes the thread, the twenty busiest, and nowhere else.
    expect(page.replaceAll(/^herald_tenant_busy_seconds\{.*$/gm, '')).not.toMatch(/tnt_|notif_/);
  });
});
