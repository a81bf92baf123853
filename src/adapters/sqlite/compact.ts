// Makes a file anew so that it can give back what is free in it: for those that were made before they could.

import { openDatabase } from './sqlite.ts';

/** As many bytes are needed on the disk beside it as it has. Killed, the file is as it was. @throws Error when it can't be written; @returns its bytes before and after */
export function compact(path: string): { readonly before: number; readonly after: number } {
  const db = openDatabase(path);
  const bytes = (): number =>
    Number(
      db.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size').get()?.['bytes'],
    );
  try {
    const before = bytes();
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
    return { before, after: bytes() };
  } finally {
    db.close();
  }
}
