// The tools to try Herald out with: what they print, pasted as it stands, shows a first webhook and a first mail.

import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import type { DataDir, Herald } from '../support/herald.ts';
import { heraldCommand, makeDataDir, processEnvironment, startHerald } from '../support/herald.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let dataDir: DataDir;
let service: Herald;
const tools: ChildProcess[] = [];

beforeAll(async () => {
  dataDir = await makeDataDir('embedded');
  service = await startHerald(dataDir, { RETRY_DELAYS: '100ms,100ms,100ms' });
});
afterEach(async () => {
  for (const child of tools.splice(0)) {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
});
afterAll(async () => {
  await service.stop();
  await dataDir.remove();
});

/** Runs until the test ends; answers what it has told so far. */
async function tool(...args: readonly string[]): Promise<() => string> {
  const env = processEnvironment({ ...dataDir.environment, PORT: new URL(service.url).port });
  const child = spawn(process.execPath, [...heraldCommand, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  tools.push(child);
  let told = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (told += text));
  await until(() => told.includes('curl') && told.endsWith('\n\n'), { what: 'what to paste' });
  return () => told;
}

/** The lines that begin with curl, in a shell, as a person pastes them. */
async function paste(told: string): Promise<string> {
  const curls = [...told.matchAll(/^ {2}(curl .*)$/gm)].map(([, curl]) => curl).join('\n');
  const env = processEnvironment(dataDir.environment);
  return (await promisify(execFile)('sh', ['-c', curls], { cwd: root, env })).stdout;
}

it('listen: the webhook that was pasted is printed, its signature right', async () => {
  const told = await tool('listen', '--port', '0');
  expect(await paste(told())).toContain('"status":"queued"');
  await until(() => told().includes('signature right, answered 200'));
  expect(told()).toMatch(/"order": 17/);
});

it('listen --status 500: a retry is the same webhook again, and a secret that is not the tenant’s says so', async () => {
  const told = await tool('listen', '--port', '0', '--status', '500', '--secret', `whsec_${'A'.repeat(32)}`);
  await paste(told());
  await until(() => /notif_\w+, again: SIGNATURE WRONG, answered 500/.test(told()));
});

it('listen --forward: the receiver gets what was signed with all that the webhook said, and its status is the answer', async () => {
  const direct = await startHttpSink();
  const sink = await startHttpSink({ respond: (_, response) => void response.writeHead(418).end() });
  try {
    const told = await tool('listen', '--port', '0', '--forward', `${sink.url}/mine`);
    const listening = /on (http:\S+)/.exec(told())?.[1] ?? '';
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=1', baggage: 'b=2' };
    const headers = { 'x-api-key': service.apiKey, ...trace };
    for (const recipient of [direct.url, listening]) {
      const body = { channel: 'WEBHOOK', recipient, body: 'x' };
      expect((await service.call('POST', '/api/v1/notify', { body, headers })).status).toBe(202);
    }
    await until(() => told().includes('answered 418') && direct.requests.length > 0);
    const [[first], [forwarded]] = [direct.requests, sink.requests];
    expect(forwarded?.path).toBe('/mine');
    expect(forwarded?.headers).toMatchObject({ ...trace, 'webhook-signature': expect.stringMatching(/^v1,/) });
    expect(forwarded?.headers['user-agent']).toMatch(/^Herald/);
    const namesOf = (request: typeof first) =>
      Object.keys(request?.headers ?? {}).filter((name) => name.startsWith('webhook-'));
    expect(namesOf(forwarded).toSorted()).toEqual(namesOf(first).toSorted());
  } finally {
    await sink.close();
    await direct.close();
  }
});

it('listen: a sender that goes away in the middle is its own business', async () => {
  const told = await tool('listen', '--port', '0');
  const socket = connect(Number(/:(\d+)\//.exec(told())?.[1]), '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\nhalf');
  await once(socket, 'data');
  socket.destroy();
  await paste(told());
  await until(() => told().includes('signature right, answered 200'));
});

it('mail: the pasted lines make it the mail server and send a mail, which it shows', async () => {
  const told = await tool('mail', '--port', '0');
  expect(await paste(told())).toContain('"status":"queued"');
  await until(() =>
    /From: {4}Herald <hello@example.com>\nTo: {6}ada@example.com\nSubject: Hello\n\n<p>Your/.test(told()),
  );
});
