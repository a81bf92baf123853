// The sockets that a server listens on. libuv takes one connection of each in a turn of the event loop: of a single one whoever opened a thousand at once, while
// turns took 3 ms, had everybody's new connections wait behind his for 3 s. Where the system has it, it spreads what comes to the port over several (SO_REUSEPORT).

import type { Server } from 'node:http';
import type { AddressInfo, ListenOptions, Server as Listener } from 'node:net';
import { createServer } from 'node:net';

export interface Listeners {
  /** The port that they really listen on. */
  readonly port: number;
  /** Takes no more connections. Resolves when all have ended. */
  close(): Promise<void>;
}

/** Connections that are taken in one turn of the event loop: some 50 us each. Elsewhere the option is refused, or the last one gets all. */
const listenersOf: Partial<Record<NodeJS.Platform, number>> = { linux: 16 };
/**
 * Connections that have come and are not taken yet, of each, as far as the system lets (net.core.somaxconn). Past it the system drops them, whoever they are of,
 * and they come again after a second, and three: of Node's 511 one address took all by opening as many as it may.
 */
const backlog = 4096;

/** @throws Error when the address can't be had */
export async function openListeners(
  server: Server,
  { host, port: asked }: { readonly host: string; readonly port: number },
): Promise<Listeners> {
  const count = listenersOf[process.platform] ?? 1;
  const at = { host, backlog };
  // Two that share a port on purpose don't hear of each other: another process that has it is met by one that doesn't share.
  if (count > 1 && asked !== 0) await free({ ...at, port: asked });
  const isShared = count > 1 && (await sharing(server, { ...at, port: asked }));
  if (!isShared) await listening(server, { ...at, port: asked });
  const { port } = server.address() as AddressInfo;
  const others: Listener[] = [];
  for (let more = isShared; more && others.length + 1 < count;) {
    const other = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket));
    // Those that there are take what comes.
    more = await sharing(other, { ...at, port }).catch(() => false);
    if (more) others.push(other);
  }
  return {
    port,
    async close() {
      await Promise.all([server, ...others].map(ended));
    },
  };
}

async function free(at: ListenOptions): Promise<void> {
  const probe = createServer();
  await listening(probe, at);
  await ended(probe);
}

/** False: the system has no such thing, and nothing listens. @throws Error when the address can't be had */
async function sharing(server: Listener, at: ListenOptions): Promise<boolean> {
  try {
    await listening(server, { ...at, reusePort: true });
    return true;
  } catch (err) {
    if (hasNoSharing.has(String((err as NodeJS.ErrnoException).code))) return false;
    throw err;
  }
}

/** Sandboxes that are no Linux, whatever they say. */
const hasNoSharing: ReadonlySet<string> = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOPROTOOPT', 'EINVAL', 'ENOSYS']);

function listening(server: Listener, at: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function ended(server: Listener): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
