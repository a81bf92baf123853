// A local HTTP server that keeps what it is sent and answers as it is told.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SinkRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface HttpSink {
  /** http://127.0.0.1:port, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly requests: SinkRequest[];
  /** Connections taken so far. */
  connections(): number;
  /** Connections open now. */
  open(): number;
  close(): Promise<void>;
}

export type Respond = (request: SinkRequest, response: ServerResponse) => void;

/** @param options.respond answers, or doesn't; default: 200 */
export async function startHttpSink(options: { readonly respond?: Respond } = {}): Promise<HttpSink> {
  const { respond = (_, response) => response.end('ok') } = options;
  const requests: SinkRequest[] = [];
  let connections = 0;
  let open = 0;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { method = '', url: path = '', headers } = incoming;
      const request = { method, path, headers, body: Buffer.concat(chunks).toString() };
      requests.push(request);
      respond(request, response);
    });
  });
  server.on('connection', (socket) => {
    connections++;
    open++;
    socket.on('close', () => open--);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    open: () => open,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
