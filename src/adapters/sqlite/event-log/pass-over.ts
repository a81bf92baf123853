// Sets the groups of a log that no process holds behind all that it has: whoever opens it next begins with what comes then.

import { openDatabase } from '../sqlite.ts';

/** @throws Error when the file can't be written */
export function passOver(path: string): void {
  const db = openDatabase(path);
  try {
    db.exec(
      `UPDATE commits SET metadata = '', "offset" = coalesce(
         (SELECT max(events."offset") + 1 FROM events WHERE events.topic = commits.topic AND events."partition" = commits."partition"),
         commits."offset")`,
    );
  } finally {
    db.close();
  }
}
