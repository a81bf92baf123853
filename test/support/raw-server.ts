// A server by its sockets: it sends whatever it is told to, right or wrong.

import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { createServer as createTlsServer } from 'node:tls';

export interface RawServer {
  readonly port: number;
  /** Connections open now. */
  open(): number;
  close(): Promise<void>;
}

/** @param onConnection is given each socket, whose errors are nobody's; @param tls with which it speaks TLS from the first byte */
export async function startRawServer(onConnection: (socket: Socket) => void, tls?: TlsOptions): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const take = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    onConnection(socket);
  };
  const server: Server = tls === undefined ? createServer(take) : createTlsServer(tls, take);
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Writes it again and again, as fast as it is read, for as long as the socket is open. */
export function writeEndlessly(socket: Socket, text: string): void {
  const piece = text.repeat(Math.ceil(16_384 / text.length));
  const go = (): void => {
    while (!socket.destroyed && socket.write(piece));
    if (!socket.destroyed) socket.once('drain', go);
  };
  go();
}
