// The HTTP server around an app: limits on what a client may send and how slowly, and a stop that finishes what is in flight.

import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:http';

import type { Logger } from '../ports/logger.ts';

export interface HttpServer {
  /** The port it really listens on. */
  readonly port: number;
  /** Takes no more connections, finishes what is in flight for at most `graceMs`, then cuts. */
  close(graceMs: number): Promise<void>;
}

const limits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  /** The whole request with its body; answers, and so streams, may take longer. */
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
} as const;

/** @throws Error when the address can't be had */
export async function listen(
  app: RequestListener,
  { host, port, logger }: { readonly host: string; readonly port: number; readonly logger: Logger },
): Promise<HttpServer> {
  const server = createServer({ ...limits, noDelay: true }, app);
  server.maxHeadersCount = 100;
  server.on('clientError', (err: NodeJS.ErrnoException, socket) => {
    logger.debug('a client sent what is no HTTP', { code: err.code });
    if (!socket.writable || err.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    socket.end(
      refusals[err.code ?? ''] ?? refusal('400 Bad Request', 'BAD_REQUEST', 'This is not a valid HTTP request.'),
    );
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

function refusal(status: string, code: string, error: string): string {
  const body = JSON.stringify({ code, error, details: [], requestId: '' });
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;
}

const refusals: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: refusal(
    '431 Request Header Fields Too Large',
    'BAD_REQUEST',
    'The address and the headers hold at most 16 KiB.',
  ),
  ERR_HTTP_REQUEST_TIMEOUT: refusal('408 Request Timeout', 'BAD_REQUEST', 'The request took too long to arrive.'),
};
