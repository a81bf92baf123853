// A TCP proxy before MongoDB that reads what is asked: it loses a command or its answer, keeps one back, or lets nothing through at all.

import type { Socket } from 'node:net';

import { startFaultyProxy } from '../../support/faulty-proxy.ts';
import { until } from '../../support/until.ts';

/** A name of a command, or the `startTransaction` of a transaction's first. */
export type Watched = 'commitTransaction' | 'findAndModify' | 'startTransaction';
type Fate = 'request' | 'answer' | 'held';

export interface CuttingProxy {
  readonly url: string;
  /** The next so many of these: the connection ends before they arrive, or before their answer does. */
  lose(what: Watched, part: 'request' | 'answer', times: number): void;
  /** The next one is lost, and whatever its sender tries then comes too late: nothing is let through any more. Resolves when that is so. */
  loseAndCut(what: Watched, part: 'request' | 'answer'): Promise<void>;
  /** The next one is kept back. Resolves once it is here, with the call that lets it go on. */
  hold(what: Watched): Promise<() => void>;
  /** How many were lost so far. */
  lost(): number;
  /** As the faulty proxy's own. */
  freeze(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function startCuttingProxy(mongoUrl: string): Promise<CuttingProxy> {
  const state: State = { what: 'commitTransaction', fate: 'request', left: 0, lost: 0, held: null, onLost: null };
  const carry = (client: Socket, upstream: Socket) => join(client, upstream, state);
  const proxy = await startFaultyProxy({ target: new URL(mongoUrl).host, carry });
  const url = new URL(mongoUrl);
  url.port = String(proxy.port);
  // The set's members name the server itself.
  url.search = 'directConnection=true';
  return {
    url: url.href,
    lose: (what, fate, left) => void Object.assign(state, { what, fate, left }),
    loseAndCut: (what, fate) =>
      new Promise((resolve) => {
        const onLost = () => {
          state.onLost = null;
          proxy.cut();
          resolve();
        };
        Object.assign(state, { what, fate, left: 1, onLost });
      }),
    async hold(what) {
      Object.assign(state, { what, fate: 'held', left: 1, held: null });
      return until(() => state.held, { what: `a ${what}` });
    },
    lost: () => state.lost,
    freeze: proxy.freeze,
    mend: proxy.mend,
    close: proxy.close,
  };
}

interface State {
  what: Watched;
  fate: Fate;
  left: number;
  lost: number;
  held: (() => void) | null;
  /** Called when a request is lost, or what it was answered. */
  onLost: (() => void) | null;
}

function join(client: Socket, upstream: Socket, state: State): void {
  let isAnswerLost = false;
  const lose = () => {
    client.destroy();
    upstream.destroy();
    state.onLost?.();
  };
  upstream.on('data', (chunk) => {
    if (!isAnswerLost) client.write(chunk);
    else lose();
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
      lose();
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
