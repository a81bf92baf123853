// Sets the groups of a log that no process holds behind all that it has: whoever opens it next begins with what comes then.

import { openDatabase } from '../sqlite.ts';
import { trimmedTable } from './catalog.ts';

/** @throws Error when the file can't be written */
export function passOver(path: string): void {
  const db = openDatabase(path);
  try {
    db.exec(trimmedTable);
    db.exec(
      `UPDATE commits SET metadata = '', "offset" = max(
         coalesce((SELECT max(events."offset") + 1 FROM events WHERE events.topic = commits.topic AND events."partition" = commits."partition"), 0),
         coalesce((SELECT "end" FROM trimmed WHERE trimmed.topic = commits.topic AND trimmed."partition" = commits."partition"), 0),
         commits."offset")`,
    );
  } finally {
    db.close();
  }
}
