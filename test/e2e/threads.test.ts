// A process whose dispatchers have a thread of their own: what one thread is told the other goes by, from the answer on.
// That everything else holds there is shown by the other suites, run with THREADS=4 (`npm run test:threads`).

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { hang, inspectedCommand } from '../support/hung-thread.ts';
import { readinessOf } from '../support/nodes.ts';
import { until } from '../support/until.ts';

const rounds = 20;
/** The watchdog says it after 30 s, looks every 5 s, and a silent thread is given 10 s. */
const hangsMs = 70_000;
const sender = { fromName: 'Shop', fromEmail: 'shop@example.com' };

let dataDir: DataDir;
let service: Herald;
let resend: HttpSink;
let sendgrid: HttpSink;

beforeAll(async () => {
  dataDir = await makeDataDir();
  resend = await startHttpSink({
    respond: (_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"id":"4ef9a417-02e9-4d39-ad75-9611e0fcc33c"}'),
  });
  sendgrid = await startHttpSink({
    respond: (_, response) => response.writeHead(202, { 'x-message-id': 'sg-1' }).end(),
  });
  service = await startHerald(dataDir, {
    THREADS: '4',
    OUTBOUND_ALLOW: '127.0.0.1/32',
    PROVIDER_URLS: JSON.stringify({ resend: resend.url, sendgrid: sendgrid.url }),
    RATE_LIMIT: '1000000/10s',
  });
}, 120_000);
afterAll(async () => {
  await service.stop();
  await Promise.all([resend.close(), sendgrid.close()]);
  await dataDir.remove();
}, 60_000);

it('has the threads, and metrics tell all of them together', async () => {
  await save('resend');
  await sent(await mail('metrics@example.com'));
  const page = await (await fetch(`${service.operationsUrl}/metrics`)).text();
  for (const thread of ['main', 'projectors', 'dispatchers', 'items'])
    expect(page).toContain(`herald_event_loop_delay_seconds{thread="${thread}"}`);
  expect(page).toMatch(/^herald_attempts_total\{.*provider="resend".*outcome="delivered".*\} 1$/m);
  // Both threads fold the lists; they are the process's all the same.
  expect(page).toMatch(/^herald_suppressions 0$/m);
});

it('a batch’s items are made to events in the thread that is theirs, up to the first that asks for what it does not know', async () => {
  const made = async () =>
    Number(
      /^herald_items_made_total (\d+)$/m.exec(await (await fetch(`${service.operationsUrl}/metrics`)).text())?.[1],
    );
  const before = await made();
  const plain = Array.from({ length: 300 }, () => ({ channel: 'IN_APP', recipient: 'ada', body: 'hi' }));
  const filled = { channel: 'IN_APP', recipient: 'ada', body: 'hi {{ name }}', data: { name: 'Ada' } };
  const answers = [];
  for (const notifications of [plain, [...plain.slice(0, 100), filled, ...plain]])
    answers.push(
      await service.call('POST', '/api/v1/notify/batch', {
        body: { notifications },
        headers: { 'x-api-key': service.apiKey },
      }),
    );
  expect(answers.map(({ status, body }) => [status, body.accepted])).toEqual([
    [202, 300],
    [202, 401],
  ]);
  expect((await made()) - before).toBeGreaterThanOrEqual(400);
});

it('a provider that was saved is the one that the next mail goes by', async () => {
  for (let round = 0; round < rounds; round++) {
    const [name, sink] = round % 2 === 0 ? (['sendgrid', sendgrid] as const) : (['resend', resend] as const);
    await save(name);
    const before = sink.requests.length;
    await sent(await mail(`round-${round}@example.com`));
    expect({ round, by: name, arrived: sink.requests.length - before }).toEqual({ round, by: name, arrived: 1 });
  }
});

it('to a recipient that was suppressed the next mail is not sent, and the one after its release is', async () => {
  await save('resend');
  for (let round = 0; round < rounds; round++) {
    const recipient = `suppressed-${round}@example.com`;
    const { status, body } = await service.dashboard('POST', '/suppressions', { channel: 'EMAIL', recipient });
    expect(status).toBe(201);
    const before = resend.requests.length;
    expect(await ended(await mail(recipient))).toBe('FAILED');
    expect(resend.requests).toHaveLength(before);
    await service.dashboard('DELETE', `/suppressions/${String(body['id'])}`);
    await sent(await mail(recipient));
    expect(resend.requests).toHaveLength(before + 1);
  }
});

it('what is in flight when it is told to stop is finished and written down before it ends', async () => {
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const slow = await startHttpSink({
    respond(_, response) {
      arrived.resolve();
      void answer.promise.then(() => response.writeHead(200).end());
    },
  });
  const accepted = await service.notify({ channel: 'WEBHOOK', recipient: slow.url, body: 'hi' });
  const id = String(accepted.body['notificationId']);
  await arrived.promise;
  const stopped = service.stop();
  await until(async () => (await fetch(`${service.operationsUrl}/health/ready`).catch(() => null))?.status !== 200, {
    what: 'a process that stops',
  });
  answer.resolve();
  expect(await stopped).toBe(0);
  service = await startHerald(dataDir, { OUTBOUND_ALLOW: '127.0.0.1/32', THREADS: '3' });
  await sent(id);
  expect(slow.requests).toHaveLength(1);
  await slow.close();
});

it('a thread that hangs with an attempt in flight is said to stand still, and the service is not ready until it goes on', async () => {
  const [place, arrived] = [await makeDataDir(), Promise.withResolvers<void>()];
  const answers: (() => void)[] = [];
  const receiver = await startHttpSink({
    respond(_, response) {
      answers.push(() => response.writeHead(200).end());
      arrived.resolve();
    },
  });
  const environment = { OUTBOUND_ALLOW: '127.0.0.1/32', THREADS: '3' };
  const hung = await startHerald(place, environment, [], inspectedCommand);
  await hung.notify({ channel: 'WEBHOOK', recipient: receiver.url, body: 'hi' });
  await arrived.promise;
  const inFlightSince = Date.now();
  // The thread says every second what it is at.
  await until(() => Date.now() - inFlightSince > 2_500, { what: 'the thread to have said that it is in flight' });
  await hang(hung, 'dispatchers', hangsMs);
  const progress = async () => (await readinessOf(hung.operationsUrl))?.dependencies['progress'];
  const said = await until(async () => /stand still/.test((await progress()) ?? '') && progress(), {
    timeoutMs: hangsMs,
    what: 'the watchdog',
  });
  expect(said).toMatch(/^down: dispatcher-webhook \d+ stand still$/);
  expect(hung.logs()).toContain('partition numbers stand still');
  await until(async () => (await progress()) === 'up', { timeoutMs: 2 * hangsMs, what: 'the thread to go on' });
  for (const answer of answers) answer();
  await hung.stop();
  await receiver.close();
  await place.remove();
}, 240_000);

async function save(provider: 'resend' | 'sendgrid'): Promise<void> {
  const apiKey = provider === 'resend' ? 're_0123456789abcdef' : 'SG.0123456789abcdef';
  const body = { channel: 'EMAIL', provider, apiKey, config: sender, enabled: true };
  const { status, body: answer } = await service.dashboard('POST', '/providers', body);
  if (status >= 300) throw new Error(`${provider} was not saved: ${status} ${JSON.stringify(answer)}`);
}

async function mail(recipient: string): Promise<string> {
  const { status, body } = await service.notify({ channel: 'EMAIL', recipient, subject: 'Hi', body: 'hi' });
  if (status !== 202) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return String(body['notificationId']);
}

async function sent(id: string): Promise<void> {
  expect(await ended(id)).toBe('DELIVERED');
}

async function ended(id: string): Promise<unknown> {
  return until(
    async () => {
      const { body } = await service.dashboard('GET', `/notifications/${id}`);
      const { status } = (body['notification'] ?? body) as Record<string, unknown>;
      return (status === 'DELIVERED' || status === 'FAILED') && status;
    },
    { timeoutMs: 60_000, what: `the end of ${id}` },
  );
}
