// A collection's documents by their ids: the order of the table's primary key, which SQLite compares as bytes.

import type { DocumentScan, StoredText } from '../../../ports/document-scan.ts';
import type { Connection } from '../connection.ts';
import type { View } from './view.ts';

/** @param connect gives the connection, or throws when the store is away */
export function createScan(connect: () => Connection, view: View): DocumentScan {
  return {
    async scan(collection, { after, limit, bytesMax }) {
      const sql = `SELECT id, document FROM ${view.table(collection).name} WHERE id > ? ORDER BY id LIMIT ?`;
      const found: StoredText[] = [];
      let bytes = 0;
      // No id is empty.
      for (const [id, document] of connect().eachRow(sql, [after ?? '', limit])) {
        const text = String(document);
        bytes += Buffer.byteLength(text);
        if (found.length > 0 && bytes > bytesMax) break;
        found.push({ id: String(id), text });
      }
      return found;
    },
    async size(collection) {
      return Number(connect().rows(`SELECT count(*) FROM ${view.table(collection).name}`, [])[0]?.[0] ?? 0);
    },
  };
}
