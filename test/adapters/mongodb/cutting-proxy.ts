// A TCP proxy before MongoDB that reads what is asked: it loses a command or its answer, keeps one back, or lets nothing through at all.

import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

import { until } from '../../support/until.ts';

/** A name of a command, or the `startTransaction` of a transaction's first. */
export type Watched = 'commitTransaction' | 'startTransaction';
type Fate = 'request' | 'answer' | 'held';

export interface CuttingProxy {
  readonly url: string;
  /** The next so many of these: the connection ends before they arrive, or before their answer does. */
  lose(what: Watched, part: 'request' | 'answer', times: number): void;
  /** The next one is kept back. Resolves once it is here, with the call that lets it go on. */
  hold(what: Watched): Promise<() => void>;
  /** How many were lost so far. */
  lost(): number;
  /** Ends all connections and takes no new ones. */
  cut(): void;
  mend(): void;
  /** Nothing passes in either direction, and nothing ends: as if the process stood still. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

export async function startCuttingProxy(mongoUrl: string): Promise<CuttingProxy> {
  const target = new URL(mongoUrl);
  const sockets = new Set<Socket>();
  const state: State = { what: 'commitTransaction', fate: 'request', left: 0, lost: 0, held: null };
  let isCut = false;
  let isFrozen = false;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
      if (isFrozen) socket.pause();
    }
    join(client, upstream, state);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(mongoUrl);
  url.port = String((server.address() as AddressInfo).port);
  // The set's members name the server itself.
  url.search = 'directConnection=true';
  return {
    url: url.href,
    lose: (what, fate, left) => void Object.assign(state, { what, fate, left }),
    async hold(what) {
      Object.assign(state, { what, fate: 'held', left: 1, held: null });
      return until(() => state.held, { what: `a ${what}` });
    },
    lost: () => state.lost,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => void (isCut = false),
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface State {
  what: Watched;
  fate: Fate;
  left: number;
  lost: number;
  held: (() => void) | null;
}

function join(client: Socket, upstream: Socket, state: State): void {
  let isAnswerLost = false;
  const end = () => {
    client.destroy();
    upstream.destroy();
  };
  client.on('close', end);
  upstream.on('close', end);
  upstream.on('data', (chunk) => {
    if (!isAnswerLost) client.write(chunk);
    else end();
  });
  const pass = (message: Buffer): void => {
    if (state.left === 0 || !message.includes(`${state.what}\0`)) {
      upstream.write(message);
      return;
    }
    state.left--;
    if (state.fate === 'held') {
      state.held = () => upstream.write(message);
      return;
    }
    state.lost++;
    if (state.fate === 'request') {
      end();
      return;
    }
    isAnswerLost = true;
    upstream.write(message);
  };
  client.on('data', messagesTo(pass));
}

/** Each message begins with its length. */
function messagesTo(pass: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0);
      pass(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}
