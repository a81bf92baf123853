// What we use of mongodb 7.8.0 beside its public API; the version is pinned, so that this stays true.

declare module 'mongodb/lib/cmap/connection.js' {
  import type { EventEmitter } from 'node:events';

  export class Connection extends EventEmitter {
    /** Emits `close` when the connection ends; whoever uses it is told of the reason by the next call. */
    writeCommand(command: unknown, options: unknown): Promise<void>;
  }
}
