// Where requests go: a pool of connections for each origin, and a bound on all of them together. What is kept for later is kept as long as there is room:
//
//   request ──> its origin's pool ──> a connection that is kept, or a new one
//                                       └── more than `connections` in all: the origin that rests longest is let go of with its own
//
// undici's Agent bounds the origins, and refuses whatever comes for one more: a tenant with a receiver of each of its customers would have every tenant's
// first call to a new one refused.

import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

import type { Dispatcher, Pool as UndiciPool } from 'undici';

// The package's index loads fetch, caches, mocks and proxies as well: 29 MB of memory where a Pool alone takes 15.
const Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js') as typeof UndiciPool;

export interface Origins {
  /** Never throws: what fails is told to the handler. */
  dispatch(origin: string, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** To be told of each connection once it is open. */
  opened(socket: Socket): void;
  /** Connections, in use and kept. */
  open(): number;
  /** What is under way fails. */
  destroy(): Promise<void>;
}

export interface OriginsOf {
  readonly pool: UndiciPool.Options;
  /** Open ones, of all origins, beyond which those that rest are closed. Never more than these and those in use. */
  readonly connections: number;
}

export function createOrigins({ pool: options, connections }: OriginsOf): Origins {
  /** The one that was used last stands last. */
  const pools = new Map<string, UndiciPool>();
  let newest = '';
  let open = 0;
  let isOver = false;

  function made(origin: string): UndiciPool {
    const pool = new Pool(origin, options);
    if (isOver) void pool.destroy();
    /** Nothing of it is open or wanted any more. */
    const forget = (): void => {
      if (pools.get(origin) !== pool) return;
      const { connected, size } = pool.stats;
      if (connected > 0 || size > 0) return;
      pools.delete(origin);
      void pool.close();
    };
    pool.on('disconnect', forget).on('connectionError', forget);
    return pool;
  }

  function poolOf(origin: string): UndiciPool {
    const known = pools.get(origin);
    if (known !== undefined && origin === newest) return known;
    const pool = known ?? made(origin);
    pools.delete(origin);
    pools.set(origin, pool);
    newest = origin;
    return pool;
  }

  function closeLongestAtRest(): void {
    let left = pools.size;
    for (const [origin, pool] of pools) {
      if (left-- === 0) return;
      pools.delete(origin);
      if (pool.stats.size === 0) return void pool.close();
      // It is met again after all others.
      pools.set(origin, pool);
    }
  }

  return {
    dispatch: (origin, request, handler) => void poolOf(origin).dispatch(request, handler),
    opened(socket) {
      open++;
      socket.once('close', () => open--);
      if (open > connections) closeLongestAtRest();
    },
    open: () => open,
    async destroy() {
      isOver = true;
      const all = [...pools.values()];
      pools.clear();
      await Promise.all(all.map((pool) => pool.destroy()));
    },
  };
}
