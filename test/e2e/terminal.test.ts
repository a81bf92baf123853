// The tools for people who live in a terminal: send, show and tail, as processes of their own beside a service.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { startFaultyProxy } from '../support/faulty-proxy.ts';
import type { DataDir, Environment, Herald } from '../support/herald.ts';
import { heraldCommand, makeDataDir, processEnvironment, startHerald } from '../support/herald.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

let dataDir: DataDir;
let service: Herald;
let readKey: string;
const started: ChildProcessWithoutNullStreams[] = [];

beforeAll(async () => {
  dataDir = await makeDataDir('embedded');
  service = await startHerald(dataDir, { RETRY_DELAYS: '100ms' });
  readKey = String((await service.dashboard('POST', '/keys', { name: 'reports', scopes: ['read'] })).body['key']);
});
afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
});
afterAll(async () => {
  await service.stop();
  await dataDir.remove();
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** On this machine, without a URL: as the demo tenant of the service of the same settings. */
function here(): Environment {
  return { ...dataDir.environment, PORT: new URL(service.url).port };
}

/** Elsewhere, with nothing of the service's but its address and a key. */
function elsewhere(key = service.apiKey, url = service.url): Environment {
  return { HERALD_URL: url, HERALD_API_KEY: key, DATA_DIR: join(dataDir.path, 'nothing here') };
}

function begin(args: readonly string[], environment: Environment): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [...heraldCommand, ...args], { env: processEnvironment(environment) });
  started.push(child);
  return child;
}

async function run(args: readonly string[], environment: Environment, stdin = ''): Promise<Ended> {
  const child = begin(args, environment);
  child.stdin.end(stdin);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: code as number | null, stdout, stderr };
}

/** Runs until the test ends; answers what it has told so far on each side. */
function follow(args: readonly string[], environment: Environment) {
  const child = begin(args, environment);
  const told = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (part: string) => (told.out += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (told.err += part));
  return { told, child };
}

/** Three processes that start on a busy machine. */
const soon = (condition: () => boolean) => until(condition, { timeoutMs: 60_000 });

const inApp = ['--channel', 'in-app', '--recipient', 'ada'];

describe('send', () => {
  it('prints the id of what it has sent, here by itself and elsewhere by URL and key', async () => {
    for (const environment of [here(), elsewhere()]) {
      const { code, stdout, stderr } = await run(['send', ...inApp, '--body', 'Hello'], environment);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/^notif_\w{26}\n$/);
      expect((await service.dashboard('GET', `/notifications/${stdout.trim()}`)).status).toBe(200);
    }
  });

  it('--wait follows it to its end: exit code 0 when it is delivered, 1 when it has failed', async () => {
    const delivered = await run(['send', ...inApp, '--body', 'Hello', '--wait'], elsewhere());
    expect([delivered.code, delivered.stderr]).toEqual([0, '']);
    expect(delivered.stdout).toMatch(/^notif_\w{26}\n[^]*DELIVERED {2}attempt 1 by inbox: delivered in \d+ ms\n$/);
    const sink = await startHttpSink({ respond: (_, response) => void response.writeHead(500).end() });
    try {
      const webhook = ['--channel', 'webhook', '--recipient', sink.url, '--body', 'x', '--wait'];
      const failed = await run(['send', ...webhook], here());
      expect([failed.code, failed.stderr]).toEqual([1, '']);
      expect(failed.stdout).toMatch(/FAILED {2}attempt 2 by custom: failed after .+ \(provider, .+500/);
    } finally {
      await sink.close();
    }
  });

  it('--timeout gives up waiting, with exit code 1 and a sentence', async () => {
    const later = ['--send-at', new Date(Date.now() + 3_600_000).toISOString()];
    const { code, stdout, stderr } = await run(
      ['send', ...inApp, '--body', 'x', ...later, '--wait', '--timeout', '0.2'],
      here(),
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(/^It has not ended in time, it is SCHEDULED: herald show notif_\w+ tells/);
    expect(stdout).toContain('SCHEDULED');
  });

  it('takes every field as an option, and numbers of --data as they are written', async () => {
    const sink = await startHttpSink({
      respond: (_, response) =>
        void response.writeHead(202, { 'content-type': 'application/json' }).end('{"notificationId":"notif_x"}'),
    });
    try {
      const fields =
        '--channel email --recipient a@b.c --template t --subject s --body b --priority high --strict --transactional --send-at 2030-01-01T00:00:00Z --expires-at 2030-01-02T00:00:00Z --ttl-seconds 60 --reply-to r@b.c --cc c@b.c --cc d@b.c --bcc e@b.c --metadata order=1 --metadata a=b=c';
      const key = ['--url', `${sink.url}/api/v1/`, '--key', 'nk_x', '--idempotency-key', 'once'];
      const args = ['send', ...fields.split(' '), '--data', '{"n":9007199254740993}', ...key];
      const { code, stdout, stderr } = await run(args, {});
      expect([code, stderr, stdout]).toEqual([0, '', 'notif_x\n']);
      const [request] = sink.requests;
      expect(request).toMatchObject({
        path: '/api/v1/notify',
        headers: { 'x-api-key': 'nk_x', 'idempotency-key': 'once', 'content-type': 'application/json' },
      });
      const body = String(request?.body);
      expect(body).toContain('"data":{"n":9007199254740993}');
      expect(JSON.parse(body)).toMatchObject({
        channel: 'EMAIL',
        recipient: 'a@b.c',
        template: 't',
        subject: 's',
        body: 'b',
        priority: 'HIGH',
        strict: true,
        transactional: true,
        sendAt: '2030-01-01T00:00:00Z',
        expiresAt: '2030-01-02T00:00:00Z',
        ttlSeconds: 60,
        replyTo: 'r@b.c',
        cc: ['c@b.c', 'd@b.c'],
        bcc: ['e@b.c'],
        metadata: { order: '1', a: 'b=c' },
      });
    } finally {
      await sink.close();
    }
  });

  it('makes of the options what the service stores: times, people, texts of a template, data', async () => {
    const provider = {
      channel: 'EMAIL',
      provider: 'smtp',
      apiKey: 'secret',
      config: { fromName: 'A', fromEmail: 'a@example.com', host: '127.0.0.1', port: 9 },
      enabled: true,
    };
    expect((await service.dashboard('POST', '/providers', provider)).status).toBeLessThan(300);
    const template = {
      name: 'shipped',
      channel: 'EMAIL',
      subject: 'Order {{ n }}',
      body: '<p>{{ n }} is on its way</p>',
    };
    expect((await service.dashboard('POST', '/templates', template)).status).toBe(201);
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const later = (ms: number) => new Date(Date.parse(sendAt) + ms).toISOString();
    const common = `--channel email --recipient a@b.example --template shipped --priority high --strict --send-at ${sendAt} --reply-to r@b.example --cc c@b.example --bcc e@b.example --metadata order=17`;
    for (const [option, expiresAt] of [
      ['--ttl-seconds 60', later(60_000)],
      [`--expires-at ${later(7_000)}`, later(7_000)],
    ] as const) {
      const args = ['send', ...common.split(' '), ...option.split(' '), '--data', '{"n":17}'];
      const { code, stdout, stderr } = await run(args, elsewhere());
      expect([code, stderr]).toEqual([0, '']);
      const { body } = await service.dashboard('GET', `/notifications/${stdout.trim()}`);
      expect(body['notification']).toMatchObject({
        status: 'SCHEDULED',
        channel: 'EMAIL',
        recipient: 'a@b.example',
        priority: 'HIGH',
        subject: 'Order 17',
        body: '<p>17 is on its way</p>',
        metadata: { order: '17' },
        scheduledAt: sendAt,
        expiresAt,
      });
    }
    const missing = await run(['send', ...common.split(' ')], elsewhere());
    expect([missing.code, missing.stdout]).toEqual([1, '']);
    expect(missing.stderr).toMatch(/^400 BAD_REQUEST: .*\bn\b/);
  });

  it('asks again where the answer was lost, and sends once', async () => {
    const sink = await startHttpSink({
      respond: ({ headers, body }, response) => {
        const isFirst = sink.requests.length === 1;
        void service
          .call('POST', '/api/v1/notify', {
            body,
            headers: { 'x-api-key': service.apiKey, 'idempotency-key': String(headers['idempotency-key']) },
          })
          .then((answer) => {
            if (isFirst) response.destroy();
            else
              response
                .writeHead(answer.status, { 'content-type': 'application/json' })
                .end(JSON.stringify(answer.body));
          });
      },
    });
    try {
      const args = ['send', '--channel', 'in-app', '--recipient', 'only-once', '--body', 'x'];
      const sent = await run(args, elsewhere(service.apiKey, sink.url));
      expect([sent.code, sent.stdout]).toEqual([0, expect.stringMatching(/^notif_\w+\n$/)]);
      expect(sent.stderr).toMatch(/can't be reached.+Asking again in/);
      expect(sink.requests).toHaveLength(2);
      const { body } = await service.dashboard('GET', '/notifications?recipient=only-once');
      expect(body['data']).toHaveLength(1);
    } finally {
      await sink.close();
    }
  });

  it('--body-file sends a whole request, of a file or of stdin', async () => {
    const request = JSON.stringify({ channel: 'IN_APP', recipient: 'ada', body: 'From a file', priority: 'BULK' });
    const file = join(dataDir.path, 'request.json');
    await writeFile(file, request);
    for (const name of [file, '-']) {
      const { code, stdout } = await run(['send', '--body-file', name], here(), request);
      expect(code).toBe(0);
      const { body } = await service.dashboard('GET', `/notifications/${stdout.trim()}`);
      expect(body['notification']).toMatchObject({ body: 'From a file', priority: 'BULK' });
    }
    const wrong = await run(['send', '--body-file', '-'], here(), '{"channel":"IN_APP",}');
    expect([wrong.code, wrong.stdout]).toEqual([1, '']);
    expect(wrong.stderr).toContain('400 BAD_REQUEST: The body is not valid JSON at line 1, column 21');
  });
});

describe('show', () => {
  it('prints a notification and its attempts as a time line, and as JSON what the API answers', async () => {
    const sink = await startHttpSink({ respond: (_, response) => void response.writeHead(503).end() });
    try {
      const args = [
        '--channel',
        'webhook',
        '--recipient',
        sink.url,
        '--body',
        'An order',
        '--subject',
        'Hi',
        '--metadata',
        'order=17',
        '--wait',
      ];
      const [id = ''] = (await run(['send', ...args], here())).stdout.split('\n');
      const { code, stdout } = await run(['show', id], here());
      expect(code).toBe(0);
      expect(stdout).toContain(`${id}  FAILED  WEBHOOK to ${sink.url}, DEFAULT\n`);
      expect(stdout).toMatch(/ {2}subject {3}Hi\n {2}metadata {2}order=17\n\n {2}An order\n\n/);
      expect(stdout).toMatch(
        /Z {2}accepted\n.+ {2}attempt 1 by custom: failed .+; again at .+Z\n.+ {2}attempt 2 by custom: failed [^;]+\n$/,
      );
      const json = JSON.parse((await run(['show', id, '--json'], elsewhere(readKey))).stdout) as object;
      expect(json).toEqual((await service.dashboard('GET', `/notifications/${id}/attempts`)).body);
      // A main key may not read attempts: the record has the last one.
      const byMainKey = (await run(['show', id], elsewhere())).stdout;
      expect(byMainKey).toMatch(/1 more, not shown\n.+ {2}attempt 2 by custom/);
    } finally {
      await sink.close();
    }
  });

  it('lets nothing of a message move the cursor or colour the terminal', async () => {
    const subject = 'a\u001b[2J\u009b\u202eb';
    const { body } = await service.notify({
      channel: 'IN_APP',
      recipient: 'e\u001b]0;x\u0007',
      subject,
      body: 'c\r\u001b[1A\nd',
    });
    const { stdout } = await run(['show', String(body['notificationId'])], here());
    expect(stdout).not.toMatch(/[^\P{Cc}\n]/u);
    expect(stdout).toContain(String.raw`a\u001b[2J\u009b\u202eb`);
    expect(stdout).toContain('  c\\u000d\\u001b[1A\n  d\n');
  });

  it('is coloured where it is asked for, and nowhere else', async () => {
    const [id = ''] = (await run(['send', ...inApp, '--body', 'x', '--wait'], here())).stdout.split('\n');
    expect((await run(['show', id], here())).stdout).not.toContain('\u001b');
    expect((await run(['show', id], { ...here(), FORCE_COLOR: '1' })).stdout).toContain('\u001b[32mDELIVERED');
  });
});

describe('tail', () => {
  const send = async (more: object = {}): Promise<string> =>
    String((await service.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x', ...more })).body['notificationId']);
  const linesOf = (out: string, id: string) => out.split('\n').filter((line) => line.includes(id));

  it('prints each change as it happens, filtered by what is asked for', async () => {
    const all = follow(['tail'], here());
    const high = follow(['tail', '--priority', 'high', '--status', 'delivered'], here());
    const json = follow(['tail', '--json', '--recipient', 'grace', '--channel', 'in-app,sms'], here());
    await soon(() => [all, high, json].every(({ told }) => told.err.includes('connected')));
    const plain = await send();
    const urgent = await send({ priority: 'HIGH', recipient: 'grace' });
    await soon(() =>
      [plain, urgent].every((id) => linesOf(all.told.out, id).some((line) => line.includes('DELIVERED'))),
    );
    expect(linesOf(all.told.out, plain)[0]).toMatch(/^\d{4}-.+Z {2}QUEUED {6}IN_APP {3}notif_\w+ {2}ada$/);
    await soon(() => linesOf(high.told.out, urgent).length === 1 && linesOf(json.told.out, urgent).length > 1);
    expect(high.told.out).not.toContain(plain);
    expect(json.told.out).not.toContain(plain);
    expect(JSON.parse(linesOf(json.told.out, urgent)[0] ?? '')).toMatchObject({
      notificationId: urgent,
      recipient: 'grace',
    });
  });

  it('goes on where it was after a cut, says so, and misses nothing', async () => {
    const proxy = await startFaultyProxy({ target: new URL(service.url).host });
    try {
      const token = ['--url', `http://127.0.0.1:${proxy.port}`, '--token', await tokenOf()];
      const { told } = follow(['tail', '--status', 'delivered', ...token], {});
      await soon(() => told.err.includes('-- connected'));
      const ids = [await send()];
      await soon(() => told.out.includes(ids[0] ?? ''));
      proxy.cut();
      for (let i = 0; i < 3; i++) ids.push(await send());
      await soon(() => told.err.includes('Connecting again'));
      proxy.mend();
      await soon(() => told.err.includes('connected again; nothing is missing'));
      ids.push(await send());
      await soon(() => ids.every((id) => told.out.includes(id)));
      expect(ids.map((id) => linesOf(told.out, id).length)).toEqual(ids.map(() => 1));
    } finally {
      await proxy.close();
    }
  });

  it('with a key of scope read asks again and again, from now on', async () => {
    const [before = ''] = (await run(['send', ...inApp, '--body', 'x', '--wait'], here())).stdout.split('\n');
    const { told } = follow(['tail', '--status', 'delivered,scheduled'], elsewhere(readKey));
    await soon(() => told.err.includes('asking every 2 s'));
    const later = await send({ sendAt: new Date(Date.now() + 3_600_000).toISOString() });
    const ids = [await send(), await send()];
    await soon(() => [...ids, later].every((id) => told.out.includes(id)));
    expect(linesOf(told.out, later)[0]).toContain('SCHEDULED');
    expect(ids.map((id) => linesOf(told.out, id).length)).toEqual([1, 1]);
    expect(told.out).not.toContain(before);
  });

  it('says what it could not see, and ends with a sentence when it may not go on', async () => {
    const change = {
      notificationId: 'notif_a',
      status: 'FAILED',
      channel: 'SMS',
      recipient: '+49',
      error: 'no',
      timestamp: 'T',
    };
    const answers: readonly ((response: ServerResponse) => void)[] = [
      (response) => response.end('id: 1\ndata: {"event":"connected"}\n\n'),
      (response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>'),
      (response) =>
        response.end(
          `id: 2\ndata: {"event":"connected","gap":true}\n\n:\n\nid: 3\ndata: ${JSON.stringify(change)}\n\n`,
        ),
      (response) =>
        response
          .writeHead(401, { 'content-type': 'application/json' })
          .end('{"code":"UNAUTHORIZED","error":"The token has ended.","details":[]}'),
    ];
    const sink = await startHttpSink({ respond: (_, response) => answers[sink.requests.length - 1]?.(response) });
    try {
      const { code, stdout, stderr } = await run(['tail', '--url', sink.url, '--token', 't'], {});
      expect([code, stdout]).toEqual([1, 'T  FAILED      SMS      notif_a  +49  no\n']);
      expect(stderr).toMatch(
        / answered 502\. Connecting again in [^]+-- connected again; .+SOME CHANGES ARE MISSING HERE[^]+\n401 UNAUTHORIZED: The token has ended\./,
      );
      expect(sink.requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1', '1', '3']);
    } finally {
      await sink.close();
    }
  });

  it('with a key, too, says when more came than it looks at', async () => {
    const record = (id: number) => ({
      id: `notif_${id}`,
      status: 'QUEUED',
      channel: 'SMS',
      recipient: '+49',
      createdAt: '2030-01-01T00:00:00.000Z',
      updatedAt: 'T',
    });
    const sink = await startHttpSink({
      respond: (request, response) => {
        const single = /\/notifications\/notif_(\d+)$/.exec(request.path)?.[1];
        const page = { data: [record(sink.requests.length)], pagination: { nextCursor: 'more' } };
        const body = single === undefined ? page : { notification: record(Number(single)) };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      },
    });
    try {
      const { told } = follow(['tail'], elsewhere('nk_x', sink.url));
      await soon(() => told.err.includes('THE OLDER ONES OF THEM ARE NOT SHOWN'));
      await soon(() => told.out.includes('QUEUED'));
    } finally {
      await sink.close();
    }
  });

  const tokenOf = async () => (await run(['token'], dataDir.environment)).stdout.trim();
});

describe('what goes wrong is a sentence, and an exit code that a script can tell by', () => {
  const none = 'notif_00000000000000000000000000';
  /** Stands for the address of a server that has stopped. */
  const nowhere = 'http://nowhere';

  it.each([
    [
      'nothing listens',
      ['show', none, '--url', nowhere, '--key', 'nk_x'],
      1,
      /^Nothing listens at http:\/\/127\.0\.0\.1:\d+: start Herald/,
    ],
    [
      'no such host',
      ['show', none, '--url', 'http://herald.invalid', '--key', 'nk_x'],
      1,
      /^(There is no host herald\.invalid|http:\/\/herald\.invalid can't be reached)/,
    ],
    ['no URL', ['send', ...inApp, '--url', 'herald', '--key', 'nk_x'], 2, /^--url: should be an http\(s\) URL/],
    ['a URL without a key', ['tail', '--url', nowhere], 2, /^--key or --token: say who asks/],
    ['no recipient', ['send', '--channel', 'sms', '--key', 'nk_x'], 2, /^--recipient: is required/],
    [
      'data that are no JSON',
      ['send', ...inApp, '--data', '{a:1}', '--key', 'nk_x'],
      2,
      /^--data: is not valid JSON at line 1, column 2/,
    ],
    ['no pair', ['send', ...inApp, '--metadata', 'order', '--key', 'nk_x'], 2, /^--metadata: should be KEY=VALUE/],
    ['a file and fields', ['send', ...inApp, '--body-file', '-', '--key', 'nk_x'], 2, /^--channel: stands in the file/],
    ['no file', ['send', '--body-file', '/nothing', '--key', 'nk_x'], 1, /^--body-file: ENOENT/],
    ['an unknown option', ['send', '--chanel', 'sms'], 2, /--chanel/],
    [
      'an unknown status',
      ['tail', '--status', 'deliverd'],
      2,
      /^--status: there is no deliverd; did you mean DELIVERED\?/,
    ],
    ['no id', ['show'], 2, /^show: name one notification/],
    ['an unknown command', ['tial'], 2, /^There is no command tial; did you mean tail\?/],
  ])('%s', async (_, args, code, sentence) => {
    const { port, close } = await startHttpSink();
    await close();
    const given = args.map((arg) => (arg === nowhere ? `http://127.0.0.1:${port}` : arg));
    const ended = await run(given, {});
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    expect(ended.stderr).toMatch(sentence);
    expect(ended.stderr).not.toMatch(/\n +at /);
  });

  it('refusals are told as the service says them', async () => {
    const wrong = await run(['send', ...inApp, '--body', 'x'], elsewhere('nk_wrong'));
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringMatching(/^401 UNAUTHORIZED: The API key is not valid\.\n\(req_/),
    ]);
    const noScope = await run(['tail'], elsewhere());
    expect([noScope.code, noScope.stderr]).toEqual([1, expect.stringMatching(/^403 FORBIDDEN: .+"scopes":\["read"\]/)]);
    const unknown = await run(['show', none], here());
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringMatching(/^404 NOT_FOUND: There is no such notification\./),
    ]);
    const several = await run(['send', '--channel', 'fax', '--recipient', 'x', '--priority', 'now'], elsewhere());
    expect(several.stderr).toMatch(/^400 BAD_REQUEST: channel: .+\n {2}priority: must be one of/);
  });

  it('another program at the address, or a redirect, is told so, and gets nothing more', async () => {
    const sink = await startHttpSink({
      respond: (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    });
    const redirect = await startHttpSink({
      respond: (_, response) => void response.writeHead(301, { location: sink.url }).end(),
    });
    try {
      expect((await run(['show', none], elsewhere('nk_x', sink.url))).stderr).toMatch(
        /answered 200 with text\/html, not as Herald does/,
      );
      const before = sink.requests.length;
      expect((await run(['show', none], elsewhere('nk_x', redirect.url))).stderr).toMatch(/leads elsewhere/);
      expect(sink.requests).toHaveLength(before);
    } finally {
      await sink.close();
      await redirect.close();
    }
  });

  it('a folder that is not the service’s is told so, and nothing is made in it', async () => {
    const environment = { ...here(), DATA_DIR: join(dataDir.path, 'another') };
    const { code, stderr } = await run(['tail'], environment);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^DATA_DIR: .+ isn't the folder of the service that listens/),
    ]);
  });
});

it.each([
  ['send', /--body-file FILE[^]+--url URL/],
  ['show', /--json[^]+--key nk_/],
  ['tail', /--json[^]+--token TOKEN/],
])('%s has a help of its own', async (command, help) => {
  const { code, stdout } = await run([command, '--help'], {});
  expect([code, stdout]).toEqual([0, expect.stringMatching(help)]);
  expect((await run(['--help'], {})).stdout).toContain(`  ${command} `);
});
