// Which log views.db follows, and how far: held against the log that is there at each start. Positions in another log, or beyond what this one holds,
// would pass over everything that is appended below them.

import { existsSync, rmSync } from 'node:fs';

import type { Topic } from '../../../domain/topics.ts';
import { foldedAheadOf } from '../../../ports/folded-ahead.ts';
import type { Logger } from '../../../ports/logger.ts';
import { type Connection, openConnection } from '../connection.ts';
import type { LogHistory, Reach } from '../event-log/history.ts';
import { offsetsOf } from './positions.ts';
import { stateTablesSql } from './view.ts';

/** The log and its opening at the last start. Without a row: from before openings were noted. */
const followedTable =
  'CREATE TABLE IF NOT EXISTS followed (one INTEGER PRIMARY KEY CHECK (one = 1), log TEXT NOT NULL, opening TEXT NOT NULL);';

/** Before anything is appended to the log or folded: the file follows this opening of the log then. What doesn't follow from it is removed, to be folded anew. */
export function followLog(of: { readonly path: string; readonly history: LogHistory; readonly logger: Logger }): void {
  const { path, history, logger } = of;
  const isOther = existsSync(path) && withFile(path, (connection) => differenceFrom(connection, history));
  if (isOther) {
    logger.warn('the read models do not follow from this log: they are removed and folded anew', { path, ...isOther });
    for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true });
  }
  withFile(path, ({ db }) => {
    db.prepare('REPLACE INTO followed (one, log, opening) VALUES (1, ?, ?)').run(history.id, history.opening);
  });
}

function withFile<T>(path: string, use: (connection: Connection) => T): T {
  const connection = openConnection(path, { synchronous: 'FULL', holds: 'read_models', givesBack: true });
  try {
    connection.db.exec(stateTablesSql + followedTable);
    return use(connection);
  } finally {
    connection.close();
  }
}

interface Difference {
  readonly reason: string;
  /** That were folded and aren't in the log, by their number. */
  readonly events: number;
}

function differenceFrom({ db }: Connection, history: LogHistory): Difference | null {
  const followed = db.prepare('SELECT log, opening FROM followed').get();
  const rows = db.prepare("SELECT partition, offsets FROM positions WHERE offsets <> '{}'").all();
  if (rows.length === 0) return null;
  const ahead = db.prepare('SELECT partition, ahead FROM folded_ahead').all();
  const positions: Position[] = [
    ...rows.map((row) => ({ partition: Number(row['partition']), offsets: offsetsOf(String(row['offsets'])) })),
    ...ahead.map((row) => ({ partition: Number(row['partition']), ...foldedAheadOf(String(row['ahead'])) })),
  ];
  const reach = history.reachOf(followed === undefined ? null : String(followed['opening']));
  const events = eventsBeyond(reach ?? history.reach, positions);
  if (followed !== undefined && followed['log'] !== history.id)
    return { reason: 'they were folded from another log', events };
  return reach !== null && events === 0 ? null : { reason: 'the log was put back from an earlier time', events };
}

interface Position {
  readonly partition: number;
  readonly offsets: ReadonlyMap<Topic, number>;
}

/** Each once, however many read models have folded it. */
function eventsBeyond(reach: Reach, positions: readonly Position[]): number {
  const beyond = new Map<string, number>();
  for (const { partition, offsets } of positions) {
    for (const [topic, offset] of offsets) {
      const place = `${topic} ${partition}`;
      beyond.set(place, Math.max(beyond.get(place) ?? 0, offset - (reach.get(topic)?.[partition] ?? 0)));
    }
  }
  return [...beyond.values()].reduce((sum, events) => sum + events, 0);
}
