// The one connection to Redis: nothing waits in it for a server that is away, and it comes back by itself.

import { once } from 'node:events';

import { Redis } from 'ioredis';

export interface RedisConnection {
  readonly client: Redis;
  /**
   * What is asked from here on in this turn of the event loop leaves in one write: requests come several in a turn, and a write for each command was a tenth
   * of what accepting a notification cost the thread.
   */
  gather(): void;
  /** Ends the connection at once, what waits for an answer failing; a new one is made. */
  drop(): void;
  close(): Promise<void>;
}

/** Tried again after 50, 100, ... 500 ms, so that Redis is used again within a second of being back. */
const retryStepMs = 50;
const retryMaxMs = 500;
/** For connecting, and for the first answers on a connection. */
const connectMaxMs = 2000;

export function connectRedis(url: string): RedisConnection {
  const client = new Redis(url, {
    connectionName: 'herald',
    connectTimeout: connectMaxMs,
    // The backstop for a server that accepts the connection and never answers on it.
    socketTimeout: connectMaxMs,
    // What can't be sent now fails now, and what was sent is not sent again: a take counted twice is one too many.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A connection is ended by `drop`; this is how long ioredis keeps a timer to end it once more.
    disconnectTimeout: 100,
    retryStrategy: (times) => Math.min(times * retryStepMs, retryMaxMs),
    // The server that is written to has become a replica. Redis 6.2 and before tell it within the error of the script.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
  });
  const drop = () => {
    if (isOpen(client)) client.stream.destroy();
  };
  let gathering: Redis['stream'] | null = null;
  return {
    client,
    gather() {
      const { stream } = client;
      if (gathering === stream || !isOpen(client)) return;
      gathering = stream;
      stream.cork();
      setImmediate(() => {
        if (gathering === stream) gathering = null;
        stream.uncork();
      });
    },
    drop,
    async close() {
      // While it waits for its next try there is no stream that would close, and ioredis tells of no end.
      const closed = isOpen(client) ? once(client.stream, 'close') : null;
      client.disconnect();
      drop();
      await closed;
    },
  };
}

/** Before its first connection it has no stream yet, whatever its type says. */
function isOpen(client: { readonly stream?: Redis['stream'] }): boolean {
  return client.stream !== undefined && client.stream !== null && !client.stream.closed;
}
