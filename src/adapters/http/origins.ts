// Where requests go: a pool of connections for each origin, and a bound on all of them together. What is kept for later is kept as long as there is room:
//
//   request ──> its origin's pool ──> a connection that is kept, or a new one
//                                       └── more than `connections` in all: the origin that rests longest is let go of with its own
//
// undici's Agent bounds the origins, and refuses whatever comes for one more: a tenant with a receiver of each of its customers would have every tenant's
// first call to a new one refused.

import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

import type { buildConnector, Dispatcher, Pool as UndiciPool } from 'undici';

// The package's index loads fetch, caches, mocks and proxies as well: 29 MB of memory where a Pool alone takes 15.
const Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js') as typeof UndiciPool;

export interface Origins {
  /** Never throws: what fails is told to the handler. @param tenantId whose receiver it is, null: a provider's */
  dispatch(
    origin: string,
    tenantId: string | null,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): void;
  /** To be told of each connection once it is open. */
  opened(socket: Socket): void;
  /** Connections, in use and kept. */
  open(): number;
  /** What is under way fails. */
  destroy(): Promise<void>;
}

/** @param tenantId who asked for the origin last */
export type Connect = (
  options: buildConnector.Options,
  callback: buildConnector.Callback,
  tenantId: string | null,
) => void;

interface Origin {
  readonly pool: UndiciPool;
  tenantId: string | null;
}

export interface OriginsOf {
  readonly connect: Connect;
  readonly pool: Omit<UndiciPool.Options, 'connect'>;
  /** Open ones, of all origins, beyond which those that rest are closed. Never more than these and those in use. */
  readonly connections: number;
}

export function createOrigins({ connect, pool: options, connections }: OriginsOf): Origins {
  /** The one that was used last stands last. */
  const origins = new Map<string, Origin>();
  let newest = '';
  let open = 0;
  let isOver = false;

  function made(name: string, tenantId: string | null): Origin {
    const pool = new Pool(name, {
      ...options,
      connect: (to: buildConnector.Options, callback: buildConnector.Callback) =>
        connect(to, callback, origin.tenantId),
    });
    const origin: Origin = { pool, tenantId };
    if (isOver) void pool.destroy();
    /** Nothing of it is open or wanted any more. */
    const forget = (): void => {
      if (origins.get(name) !== origin) return;
      const { connected, size } = pool.stats;
      if (connected > 0 || size > 0) return;
      origins.delete(name);
      void pool.close();
    };
    pool.on('disconnect', forget).on('connectionError', forget);
    return origin;
  }

  function originOf(name: string, tenantId: string | null): Origin {
    const known = origins.get(name);
    if (known !== undefined && name === newest) return known;
    const origin = known ?? made(name, tenantId);
    origins.delete(name);
    origins.set(name, origin);
    newest = name;
    return origin;
  }

  function closeLongestAtRest(): void {
    let left = origins.size;
    for (const [name, origin] of origins) {
      if (left-- === 0) return;
      origins.delete(name);
      if (origin.pool.stats.size === 0) return void origin.pool.close();
      // It is met again after all others.
      origins.set(name, origin);
    }
  }

  return {
    dispatch(name, tenantId, request, handler) {
      const origin = originOf(name, tenantId);
      origin.tenantId = tenantId;
      origin.pool.dispatch(request, handler);
    },
    opened(socket) {
      open++;
      socket.once('close', () => open--);
      if (open > connections) closeLongestAtRest();
    },
    open: () => open,
    async destroy() {
      isOver = true;
      const all = [...origins.values()];
      origins.clear();
      await Promise.all(all.map(({ pool }) => pool.destroy()));
    },
  };
}
