// views.db for those who only ask: a connection of its own, synchronous inside and read-only, beside the writer in
// another thread.

import type { DocumentScan } from '../../../ports/document-scan.ts';
import type { ReadModelReader } from '../../../ports/read-model-store.ts';
import type { ThreadTurns } from '../../../ports/thread-turns.ts';
import { type Connection, openConnection } from '../connection.ts';
import { type ChangeSignalEnd, hearChanges } from './change-signal.ts';
import { createListeners } from './listeners.ts';
import { createReading } from './reading.ts';
import { createScan } from './scan.ts';
import { createView, loadVersions, versionsWatch } from './view.ts';

/** How often a reader looks by itself whether something was written, and only while somebody listens. */
const lookEveryMs = 50;

export interface ReadModelReaderOptions {
  readonly path: string;
  /** The reader's end of the writer's signal; without it changes are seen by looking every 50 ms. */
  readonly changes?: ChangeSignalEnd;
  /** Of the thread; absent: nobody else waits for it. */
  readonly turns?: ThreadTurns;
  /** From its first call on it sees what was there then, whatever is written meanwhile: for work on all documents together. The writer's WAL grows until it is closed. */
  readonly staysAsItIs?: true;
}

/** The file is opened by the first call that finds it; until then calls reject and `ready` is false. */
export function openReadModelReader(
  options: ReadModelReaderOptions,
): ReadModelReader & DocumentScan & { close(): void } {
  let connection: Connection | null = null;
  let isClosed = false;
  const connect = () => {
    if (isClosed) throw new Error('the read models were closed');
    connection ??= open(options);
    return connection;
  };
  const view = createView(() => loadVersions(connect().db, 'current'), versionsWatch(connect));
  const changes = listenOn(connect, options.changes);
  return {
    ...createReading(connect, view, options.turns),
    ...createScan(connect, view),
    onChange: changes.onChange,
    async ready() {
      try {
        connect().rows('SELECT count(*) FROM read_models', []);
        return true;
      } catch {
        return false;
      }
    },
    close() {
      isClosed = true;
      changes.end();
      connection?.close();
    },
  };
}

function open({ path, staysAsItIs }: ReadModelReaderOptions): Connection {
  const connection = openConnection(path, { readOnly: true });
  // Only reading begins what is seen.
  if (staysAsItIs === true) connection.db.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  return connection;
}

function listenOn(connect: () => Connection, signal: ChangeSignalEnd | undefined) {
  const listeners = createListeners();
  let timer: NodeJS.Timeout | null = null;
  let versionSeen: unknown = null;
  const endHearing = signal === undefined ? null : hearChanges(signal, listeners.changed);

  /** `data_version` changes when another connection has committed. */
  const look = () => {
    try {
      const version = connect().rows('PRAGMA data_version', [])[0]?.[0];
      if (version !== versionSeen) listeners.changedAll();
      versionSeen = version;
    } catch {
      // Not there yet, or away: the next look will tell.
    }
  };
  const rest = () => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  return {
    onChange(readModel: string, listener: () => void) {
      const remove = listeners.add(readModel, listener);
      if (signal === undefined && timer === null) {
        look();
        timer = setInterval(look, lookEveryMs).unref();
      }
      return () => {
        remove();
        if (listeners.isEmpty()) rest();
      };
    },
    end() {
      rest();
      endHearing?.();
    },
  };
}
