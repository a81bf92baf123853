// The HTTP server around an app: limits on what a client may send and how slowly, and a stop that finishes what is in flight.

import { randomBytes } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';

import type { ErrorCode } from '../domain/errors.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ClientAddresses } from './client-addresses.ts';
import { createClientAddresses } from './client-addresses.ts';
import { createConnectionLimits } from './connection-limits.ts';
import type { Listeners } from './listeners.ts';
import { openListeners } from './listeners.ts';
import { hasOwnTime } from './own-time.ts';
import type { Readable } from './slow-starts.ts';
import { createSlowStarts } from './slow-starts.ts';

export interface HttpServer {
  /** The port it really listens on. */
  readonly port: number;
  /** Takes no more connections, finishes what is in flight for at most `graceMs`, then cuts. */
  close(graceMs: number): Promise<void>;
}

/** What a client may send, and how slowly it may send and read. */
export const serverLimits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  /** The whole request with its body, but for those that see to it themselves (own-time.ts); answers, and so streams, may take longer. */
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
  /** Neither a byte read nor one written: a client that doesn't take its answer. Streams have a comment every 15 s. */
  silenceTimeout: 60_000,
  /** 1,000 streams and 3,000 others; one costs 10 to 30 KiB, 100 MiB in all. One more is closed as it comes. */
  maxConnections: 4000,
  /**
   * Of one address, or requests at once where a trusted proxy names it; one more is closed as it comes, or gets 429.
   * All 1,000 streams and 500 requests beside them, for backends behind one NAT; 2,500 are left for others.
   */
  connectionsPerAddress: 1500,
} as const;

export type ServerLimits = { readonly [Name in keyof typeof serverLimits]: number };

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly limits?: Partial<ServerLimits>;
  /** Networks of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[];
}

/** @throws Error when the address can't be had */
export async function listen(app: RequestListener, options: ListenOptions): Promise<HttpServer> {
  const { host, port, logger, metrics, limits, trustedProxies = [] } = options;
  const { silenceTimeout, maxConnections, connectionsPerAddress, ...timeouts } = { ...serverLimits, ...limits };
  const addresses = createClientAddresses({ trustedProxies, placesPerAddress: connectionsPerAddress });
  const tellRefused = (reason: 'address' | 'process') =>
    metrics?.increment('herald_connections_refused_total', { reason });
  for (const reason of ['address', 'process']) metrics?.increment('herald_connections_refused_total', { reason }, 0);
  for (const reason of ['pieces', 'unanswered']) metrics?.increment('herald_connections_cut_total', { reason }, 0);
  const slowStarts = createSlowStarts(() => performance.now());
  // The API's, where a process has one: it is opened after the server for whoever watches.
  metrics?.gauge('herald_connections_waiting', slowStarts.waiting);
  const clientOf = ({ remoteAddress }: Socket): string | null =>
    remoteAddress === undefined || addresses.isProxy(remoteAddress) ? null : addresses.keyOf(remoteAddress, undefined);
  const connectionLimits = createConnectionLimits({
    cut(socket, reason) {
      metrics?.increment('herald_connections_cut_total', { reason });
      const client = clientOf(socket);
      if (client !== null) slowStarts.cut(client);
      if (reason === 'pieces') endWith(socket, '413 Payload Too Large', refusalOf(tooFine, 'PAYLOAD_TOO_LARGE'));
      else socket.destroy();
    },
    came(socket, pieces) {
      const client = clientOf(socket);
      if (client !== null) slowStarts.came(client, pieces);
    },
  });
  // What is wrong with a request's hosts is refused here, in the shape of every refusal.
  const server = createServer({ ...timeouts, noDelay: true, requireHostHeader: false }, (req, res) => {
    if (!connectionLimits.admits(req, res)) return;
    const problem = problemWithHost(req);
    if (problem !== null) return refuse(res, 400, refusalOf(problem));
    if (hasPlace(req, res, addresses)) return app(req, res);
    tellRefused('address');
    refuse(res, 429, tooMany());
  });
  let open = 0;
  server.on('connection', (socket) => {
    if (open >= maxConnections) {
      tellRefused('process');
      socket.destroy();
      return;
    }
    open++;
    socket.once('close', () => open--);
    connectionLimits.bound(socket);
    const address = socket.remoteAddress;
    // undefined: it has gone already.
    if (address === undefined || addresses.isProxy(address)) return;
    const giveBack = addresses.take(address);
    const forget = giveBack === null ? null : slowStarts.open(addresses.keyOf(address, undefined), readableOf(socket));
    if (giveBack === null || forget === null) {
      tellRefused('address');
      socket.destroy();
      giveBack?.();
      return;
    }
    socket.once('close', () => {
      giveBack();
      forget();
    });
  });
  server.maxHeadersCount = 100;
  server.timeout = silenceTimeout;
  // RFC 9110 10.1.1 leaves it to the server whether an expectation that it doesn't know is refused.
  server.on('checkExpectation', app);
  server.on('clientError', (err: NodeJS.ErrnoException, socket) => {
    if (err.code === tookTooLong && hasOwnTime(socket)) return;
    const { status, error } = refusals[err.code ?? ''] ?? noHttp;
    const refusal = refusalOf(error);
    logger.debug('a client sent what is no HTTP', { code: err.code, requestId: refusal.requestId });
    if (!socket.writable || err.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    socket.end(asText(status, refusal));
    // A client that doesn't close its side would keep its place.
    const cut = setTimeout(() => socket.destroy(), closeWithinMs);
    socket.once('close', () => clearTimeout(cut));
  });
  const listeners = await openListeners(server, { host, port });
  return { port: listeners.port, close: (graceMs) => closeServer(server, listeners, graceMs) };
}

/** Its handle is reached by a name of Node's own: what is read of a connection that HTTP has taken goes past its stream. It is stopped until it is started. */
function readableOf(socket: Socket): Readable {
  const { _handle: handle } = socket as unknown as {
    readonly _handle: { readStart(): void; readStop(): void } | null;
  };
  handle?.readStop();
  return {
    start: () => {
      if (!socket.destroyed) handle?.readStart();
    },
    stop: () => {
      if (!socket.destroyed) handle?.readStop();
    },
  };
}

/** Of a client that sends on: nothing more is read of it, so that it may miss the answer. */
function endWith(socket: Socket, status: string, refusal: Refusal): void {
  socket.end(asText(status, refusal));
  setImmediate(() => socket.destroy());
}

const tooFine =
  'The body comes in too many pieces: after the first 1,000 chunks they should have 32 bytes each on the average.';

/** A refused client has so long to take the answer and to close. */
const closeWithinMs = 1000;
const letGoEveryMs = 20;

async function closeServer(server: Server, listeners: Listeners, graceMs: number): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  // A connection that is kept alive is let go once its answer is out.
  const letGo = setInterval(() => server.closeIdleConnections(), letGoEveryMs);
  await listeners.close();
  clearTimeout(cut);
  clearInterval(letGo);
}

/** What never became a request has an id of its own kind: no log line of a request bears it, the line about the connection does. */
function refusalOf(error: string, code: ErrorCode = 'BAD_REQUEST', more: Readonly<Record<string, string>> = {}) {
  const requestId = `req_${randomBytes(10).toString('hex')}`;
  const body = JSON.stringify({ code, error, details: [], requestId });
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...more,
  };
  return { requestId, headers, body };
}

type Refusal = ReturnType<typeof refusalOf>;

function tooMany(): Refusal {
  return refusalOf('Too many requests of this address are under way.', 'TOO_MANY_REQUESTS', { 'retry-after': '1' });
}

function refuse(res: ServerResponse, status: number, { headers, body }: Refusal): void {
  res.writeHead(status, headers);
  res.end(body);
}

/** RFC 9112 3.2: of two hosts a proxy before us may have meant the other. HTTP/1.0 needs none. */
function problemWithHost({ headers, rawHeaders, httpVersion }: IncomingMessage): string | null {
  const { host } = headers;
  if (host === undefined) return httpVersion === '1.1' ? 'The request has no header Host.' : null;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (isHost.test(rawHeaders[i] ?? '')) hosts++;
  if (hosts > 1) return 'The request has more than one header Host.';
  return hostForm.test(host) ? null : 'The header Host is not valid.';
}

const isHost = /^host$/i;
/** Characters of RFC 3986 3.2.2 and 3.2.3: a name or an address, and a port. */
const hostForm = /^[\w.~!$&'()*+,;=:%[\]-]*$/;

/** Whether the request may be served: one that a trusted proxy passes on holds a place of its client. */
function hasPlace(req: IncomingMessage, res: ServerResponse, addresses: ClientAddresses): boolean {
  const { remoteAddress } = req.socket;
  if (remoteAddress === undefined || !addresses.isProxy(remoteAddress)) return true;
  const forwardedFor = req.headers['x-forwarded-for'];
  const giveBack = addresses.take(addresses.clientOf(remoteAddress, String(forwardedFor ?? '')));
  if (giveBack === null) return false;
  res.once('close', giveBack);
  return true;
}

function asText(status: string, { headers, body }: Refusal): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`;
}

const tookTooLong = 'ERR_HTTP_REQUEST_TIMEOUT';
/** By Node's code of the error. */
const refusals: Readonly<Record<string, { readonly status: string; readonly error: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    error: 'The address and the headers hold at most 16 KiB, in at most 100 headers.',
  },
  [tookTooLong]: { status: '408 Request Timeout', error: 'The request took too long to arrive.' },
};
const noHttp = { status: '400 Bad Request', error: 'This is not a valid HTTP request.' };
