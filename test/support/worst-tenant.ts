// A tenant at its worst, within what it is allowed: each kind of input that it controls, as dear as it can be made, until it is told to stop.

import { connect } from 'node:net';

import type { EventReader } from './event-source.ts';
import { readEvents } from './event-source.ts';
import { startRawServer, writeEndlessly } from './raw-server.ts';
import { until } from './until.ts';

/** A tenant of a service: what its key and its token reach. */
export interface Caller {
  readonly url: string;
  readonly apiKey: string;
  readonly bearer: string;
}

export interface Worst {
  readonly tenant: Caller;
  /** Answers whatever it gets with 404. */
  readonly refusing: { readonly url: string };
  /** Where streams began before there was anything to tell. */
  readonly marks: { readonly inbox: string; readonly dashboard: string };
  /** Of the largest record, and of one that has failed. */
  readonly ids: { readonly largest: string; readonly failed: readonly string[] };
}

/** Goes on until what it returns is called. */
export type Noise = (worst: Worst) => Promise<() => Promise<void>>;

const clients = 10;
const large = 'x y z '.repeat(33_000);
const batch = {
  notifications: Array.from({ length: 2500 }, (_, i) => notification({ recipient: `u${i}`, body: 'b' })),
};

/** By name, in the words of what is shared. */
export const noises: Readonly<Record<string, Noise>> = {
  templates: looping((i) => ['POST', '/notify', notification({ ...dearTemplates[i % dearTemplates.length] })]),
  reads: looping((i) => ['GET', `/notifications?${pages[i % pages.length]}`]),
  'one large record': looping((i, { ids }) => [
    'GET',
    `/notifications/${ids.largest}${i % 2 === 0 ? '' : '/attempts'}`,
  ]),
  search: looping((i) => ['GET', `/notifications?${searches[i % searches.length]}`]),
  'names that never resolve': looping((i) => [
    'POST',
    '/notify',
    { channel: 'WEBHOOK', recipient: `https://n${i}.example.invalid/hook`, priority: 'BULK', body: 'b' },
  ]),
  'streams from the beginning': async ({ tenant, marks }) => {
    const inbox = { 'x-api-key': tenant.apiKey, 'last-event-id': marks.inbox };
    const dashboard = { authorization: `Bearer ${tenant.bearer}`, 'last-event-id': marks.dashboard };
    const readers: EventReader[] = [];
    for (let i = 0; i < 20; i++) {
      readers.push(await readEvents(`${tenant.url}/notify/inapp/ada/stream`, inbox));
      readers.push(await readEvents(`${tenant.url}/dashboard/stream`, dashboard));
    }
    return async () => {
      for (const reader of readers) await reader.close();
    };
  },
  retries: looping((i, { ids }) => ['POST', `/notifications/${ids.failed[i % ids.failed.length]}/retry`]),
  'tests of providers': looping((_, { refusing }) => ['POST', '/providers/WEBHOOK/test', { recipient: refusing.url }]),
  'receivers whose answers cost': async (worst) => {
    const servers = await Promise.all(
      dearAnswers.map(([answer, endlessly]) =>
        startRawServer((socket) => {
          socket.on('data', () => {
            socket.write(answer);
            if (endlessly !== undefined) writeEndlessly(socket, endlessly);
          });
        }),
      ),
    );
    const recipients = servers.map(({ port }) => `http://127.0.0.1:${port}/`);
    const webhooks = recipients.flatMap((recipient) =>
      Array.from({ length: 5 }, () => ({ channel: 'WEBHOOK', recipient, priority: 'BULK', body: 'b' })),
    );
    const stop = await looping(() => ['POST', '/notify/batch', { notifications: webhooks }])(worst);
    return async () => {
      await stop();
      await Promise.all(servers.map((server) => server.close()));
    };
  },
  'half requests': async ({ tenant }) => {
    const { hostname, port } = new URL(tenant.url);
    const head = `POST /api/v1/notify HTTP/1.1\r\nHost: x\r\nx-api-key: ${tenant.apiKey}\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n{"a":"`;
    const sockets = Array.from({ length: 500 }, (_, i) => {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
      socket.on('error', () => undefined);
      socket.on('connect', () => socket.write(i % 2 === 0 ? head : head.slice(0, 60)));
      return socket;
    });
    const dripping = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write('x');
    }, 500);
    return async () => {
      clearInterval(dripping);
      for (const socket of sockets) socket.destroy();
    };
  },
  'bodies of 200 KiB': looping(() => ['POST', '/notify', notification({ body: large })]),
  batches: looping(() => ['POST', '/notify/batch', batch]),
};

const dearTemplates: readonly { readonly body: string; readonly data: object }[] = [
  { body: `{{x${'[d]'.repeat(2700)}}}`.repeat(24), data: { x: {}, d: 'a'.repeat(60_000) } },
  { body: '{{d|truncate:1}}'.repeat(1900), data: { d: Array(20_000).fill('') } },
  { body: '{{d|upcase|size}}'.repeat(1990), data: { d: Array.from({ length: 20_000 }, () => []) } },
  {
    body: '{% for i in (1..9999) %}{% for j in d %}{% if i == j %}{% endif %}{% endfor %}{% endfor %}',
    data: { d: [1, 2] },
  },
];
/** Each with what follows without an end. */
const dearAnswers: readonly (readonly [answer: string, endlessly?: string])[] = [
  [`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(65_000)}0\r\n\r\n`],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;', 'a'],
  ['', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  [`HTTP/1.1 200 OK\r\n${'a:\r\n'.repeat(16_000)}content-length: 0\r\n\r\n`],
];
const pages = ['page=90&limit=1', 'limit=100', 'channel=SMS', 'limit=100&status=DELIVERED'];
const searches = ['q=nothing', 'q=invoice&channel=SMS', 'q=x%20y%20z', 'recipientPrefix=a&q=invoice&metadata.a=b'];

export function notification(more: object): object {
  return { channel: 'IN_APP', recipient: 'ada', priority: 'BULK', ...more };
}

type Ask = (i: number, worst: Worst) => readonly [method: string, path: string, body?: object];

/** Some clients that ask again as soon as they are answered, whatever the answer; a 429 is waited out for a moment. */
function looping(ask: Ask): Noise {
  return async (worst) => {
    const done = new AbortController();
    let answers = 0;
    const loops = Array.from({ length: clients }, async (_, client) => {
      for (let i = client; !done.signal.aborted; i += clients) {
        const [method, path, body] = ask(i, worst);
        const answer = await call(worst.tenant, method, path, body);
        answers++;
        if (answer.status === 429) await new Promise((resolve) => setTimeout(resolve, 100));
      }
    });
    await until(() => answers >= clients, { timeoutMs: 60_000, what: 'the tenant to be at work' });
    return async () => {
      done.abort();
      await Promise.all(loops);
    };
  };
}

/** By whichever of key and token the route takes. */
export async function call({ url, apiKey, bearer }: Caller, method: string, path: string, body?: object) {
  const isByKey = path.startsWith('/notify');
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(isByKey ? { 'x-api-key': apiKey } : { authorization: `Bearer ${bearer}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}
