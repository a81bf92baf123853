// HTTP as no client library would send it: bytes over a socket, and whatever comes back until the server closes it or nothing more is awaited.

import { connect } from 'node:net';

export interface RawAnswer {
  /** The status of each answer, in order. */
  readonly statuses: readonly number[];
  readonly text: string;
  /** Whether the server closed the connection. */
  readonly closed: boolean;
  readonly tookMs: number;
}

export interface RawOptions {
  /** Ends the wait when so many answers have come; default 1. */
  readonly answers?: number;
  /** Ends it in any case. */
  readonly withinMs?: number;
  /** The address to connect from; default 127.0.0.1. */
  readonly from?: string;
  /** Sent every `everyMs` after the first bytes, as long as the connection is open. */
  readonly drip?: { readonly bytes: string; readonly everyMs: number };
}

export function rawRequest(port: number, bytes: string | Buffer, options: RawOptions = {}): Promise<RawAnswer> {
  const { answers = 1, withinMs = 5000, from = '127.0.0.1', drip } = options;
  return new Promise((resolve) => {
    const startedAt = performance.now();
    let text = '';
    let closed = false;
    const socket = connect({ port, host: '127.0.0.1', localAddress: from });
    const dripping = drip === undefined ? undefined : setInterval(() => socket.write(drip.bytes), drip.everyMs);
    const overdue = setTimeout(() => finish(), withinMs);
    const finish = () => {
      clearInterval(dripping);
      clearTimeout(overdue);
      socket.destroy();
      resolve({ statuses: statusesOf(text), text, closed, tookMs: performance.now() - startedAt });
    };
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (drip === undefined && statusesOf(text).length >= answers) finish();
    });
    // A connection that is cut while bytes are still being sent.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      closed = true;
      finish();
    });
  });
}

function statusesOf(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)]
    .map(([, status]) => Number(status))
    .filter((status) => status >= 200);
}
