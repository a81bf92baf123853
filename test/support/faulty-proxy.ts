// A TCP proxy before a server, for the faults of a network: it delays, freezes, cuts, drops and half-opens connections.

import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

export interface FaultyProxy {
  readonly port: number;
  /** host:port */
  readonly address: string;
  /** What arrives from now on goes on so much later, in both directions; 0: at once. */
  delay(ms: number): void;
  /** Nothing passes and nothing ends, on new connections too; what is sent meanwhile arrives after mend(). */
  freeze(): void;
  /** Every connection loses its other end without a word: what the client sends is swallowed, even after mend(). New ones find nobody either. */
  halfOpen(): void;
  /** Ends all connections and refuses new ones. */
  cut(): void;
  /** Ends all connections; new ones pass. */
  drop(): void;
  /** Ends what freeze(), halfOpen() and cut() began. */
  mend(): void;
  close(): Promise<void>;
}

/** What becomes of bytes and of new connections. */
type State = 'passing' | 'frozen' | 'half-open' | 'cut';

/** Two ends that were joined; the upstream's is gone when it is half-open. */
interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  isHalfOpen: boolean;
}

export interface FaultyProxyOptions {
  /** Of the server; host:port. Of several, as a balancer has them: asked at each new connection. */
  readonly target: string | (() => string);
  /** Its own; default: one that is free. */
  readonly port?: number;
  /** Carries the bytes in both directions; default: as they are, with the delay. */
  readonly carry?: (client: Socket, upstream: Socket) => void;
}

export async function startFaultyProxy({ target, port = 0, carry }: FaultyProxyOptions): Promise<FaultyProxy> {
  const nextTarget = () => new URL(`tcp://${typeof target === 'string' ? target : target()}`);
  const pairs = new Set<Pair>();
  let state: State = 'passing';
  let delayMs = 0;
  const carryBytes =
    carry ??
    ((client: Socket, upstream: Socket) => {
      passOn(client, upstream, () => delayMs);
      passOn(upstream, client, () => delayMs);
    });

  const server = createServer((client) => {
    client.on('error', () => undefined);
    if (state === 'cut') {
      client.destroy();
      return;
    }
    client.setNoDelay(true);
    const to = nextTarget();
    const upstream = connect({ port: Number(to.port), host: to.hostname, noDelay: true });
    upstream.on('error', () => undefined);
    const pair: Pair = { client, upstream, isHalfOpen: false };
    pairs.add(pair);
    client.on('close', () => {
      upstream.destroy();
      pairs.delete(pair);
    });
    // What a server has said before it went still arrives, and not while it stands frozen.
    upstream.on('close', () => {
      if (state !== 'frozen' && !pair.isHalfOpen) client.end();
    });
    carryBytes(client, upstream);
    if (state === 'frozen') freezeOne(pair);
    if (state === 'half-open') halfOpenOne(pair);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const { port: own } = server.address() as AddressInfo;
  const drop = () => {
    for (const { client } of pairs) client.destroy();
  };

  return {
    port: own,
    address: `127.0.0.1:${own}`,
    delay: (ms) => void (delayMs = ms),
    freeze() {
      state = 'frozen';
      for (const pair of pairs) freezeOne(pair);
    },
    halfOpen() {
      state = 'half-open';
      for (const pair of pairs) halfOpenOne(pair);
    },
    cut() {
      state = 'cut';
      drop();
    },
    drop,
    mend() {
      state = 'passing';
      for (const { client, upstream, isHalfOpen } of pairs) {
        client.resume();
        upstream.resume();
        if (upstream.destroyed && !isHalfOpen) client.end();
      }
    },
    async close() {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function freezeOne({ client, upstream }: Pair): void {
  client.pause();
  upstream.pause();
}

function halfOpenOne(pair: Pair): void {
  pair.isHalfOpen = true;
  pair.upstream.destroy();
  pair.client.removeAllListeners('data').resume();
}

/** In the order in which it came, however the delay changes. */
function passOn(from: Socket, to: Socket, delayMs: () => number): void {
  let last = Promise.resolve();
  let waiting = 0;
  from.on('data', (chunk) => {
    const ms = delayMs();
    if (ms === 0 && waiting === 0) {
      to.write(chunk);
      return;
    }
    waiting++;
    const due = new Promise<void>((resolve) => void setTimeout(resolve, ms));
    last = Promise.all([last, due]).then(() => {
      waiting--;
      if (!to.destroyed) to.write(chunk);
    });
  });
}
