// The HTTP server around an app: limits on what a client may send and how slowly, and a stop that finishes what is in flight.

import { randomBytes } from 'node:crypto';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';

import type { Logger } from '../ports/logger.ts';

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
  /** The whole request with its body; answers, and so streams, may take longer. */
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
  /** Neither a byte read nor one written: a client that doesn't take its answer. Streams have a comment every 15 s. */
  silenceTimeout: 60_000,
  /** 1,000 streams and 3,000 others; one costs 10 to 30 KiB, 100 MiB in all. One more is closed as it comes. */
  maxConnections: 4000,
} as const;

export type ServerLimits = { readonly [Name in keyof typeof serverLimits]: number };

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly logger: Logger;
  readonly limits?: Partial<ServerLimits>;
}

/** @throws Error when the address can't be had */
export async function listen(app: RequestListener, { host, port, logger, limits }: ListenOptions): Promise<HttpServer> {
  const { silenceTimeout, maxConnections, ...timeouts } = { ...serverLimits, ...limits };
  // A request without a host is refused here, in the shape of every refusal.
  const server = createServer({ ...timeouts, noDelay: true, requireHostHeader: false }, (req, res) => {
    if (req.headers.host === undefined && req.httpVersion === '1.1') refuseHost(res);
    else app(req, res);
  });
  server.maxHeadersCount = 100;
  server.maxConnections = maxConnections;
  server.timeout = silenceTimeout;
  // RFC 9110 10.1.1 leaves it to the server whether an expectation that it doesn't know is refused.
  server.on('checkExpectation', app);
  server.on('clientError', (err: NodeJS.ErrnoException, socket) => {
    const { status, error } = refusals[err.code ?? ''] ?? noHttp;
    const refusal = refusalOf(error);
    logger.debug('a client sent what is no HTTP', { code: err.code, requestId: refusal.requestId });
    if (socket.writable && err.code !== 'ECONNRESET') socket.end(asText(status, refusal));
    else socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return { port: portOf(server), close: (graceMs) => closeServer(server, graceMs) };
}

const letGoEveryMs = 20;

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address.port;
}

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    // A connection that is kept alive is let go once its answer is out.
    const letGo = setInterval(() => server.closeIdleConnections(), letGoEveryMs);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(letGo);
      resolve();
    });
  });
}

/** What never became a request has an id of its own kind: no log line of a request bears it, the line about the connection does. */
function refusalOf(error: string) {
  const requestId = `req_${randomBytes(10).toString('hex')}`;
  const body = JSON.stringify({ code: 'BAD_REQUEST', error, details: [], requestId });
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  return { requestId, headers, body };
}

function refuseHost(res: ServerResponse): void {
  const { headers, body } = refusalOf('The request has no header Host.');
  res.writeHead(400, headers);
  res.end(body);
}

function asText(status: string, { headers, body }: ReturnType<typeof refusalOf>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`;
}

/** By Node's code of the error. */
const refusals: Readonly<Record<string, { readonly status: string; readonly error: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    error: 'The address and the headers hold at most 16 KiB, in at most 100 headers.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', error: 'The request took too long to arrive.' },
};
const noHttp = { status: '400 Bad Request', error: 'This is not a valid HTTP request.' };
