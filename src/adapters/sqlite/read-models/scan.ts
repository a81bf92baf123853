// A collection's documents by their ids: the order of the table's primary key, which SQLite compares as bytes.

import type { DocumentScan, StoredText } from '../../../ports/document-scan.ts';
import type { Connection } from '../connection.ts';
import { textOfRow } from './packing.ts';
import type { View } from './view.ts';

/** @param connect gives the connection, or throws when the store is away */
export function createScan(connect: () => Connection, view: View): DocumentScan {
  return {
    async scan(collection, { after, limit, bytesMax }) {
      const { name, packing, documentColumns } = view.table(collection);
      const sql = `SELECT ${documentColumns.join(', ')}, id FROM ${name} WHERE id > ? ORDER BY id LIMIT ?`;
      const found: StoredText[] = [];
      let bytes = 0;
      // No id is empty.
      for (const row of connect().eachRow(sql, [after ?? '', limit])) {
        const id = String(row.at(-1));
        const text = textOfRow(packing, id, row);
        bytes += Buffer.byteLength(text);
        if (found.length > 0 && bytes > bytesMax) break;
        found.push({ id, text });
      }
      return found;
    },
    async size(collection) {
      return Number(connect().rows(`SELECT count(*) FROM ${view.table(collection).name}`, [])[0]?.[0] ?? 0);
    },
  };
}
