// The secret of each read model: made once, kept in the file that it is for, so that they are lost, copied and moved together.

import { randomBytes } from 'node:crypto';

import type { ReadModelDefinition } from '../../../ports/read-model-store.ts';
import type { Connection } from '../connection.ts';

const secretBytes = 16;

/**
 * Inside of the transaction that makes the read model's tables. One that is there stays.
 *
 * @param secret of one that isn't there; by default by chance
 */
export function makeSecret(
  connection: Connection,
  { name, secretOf: other }: ReadModelDefinition,
  secret = randomBytes(secretBytes).toString('hex'),
): void {
  const insert = `INSERT INTO secrets (read_model, secret)
    VALUES (?, coalesce((SELECT secret FROM secrets WHERE read_model = ?), ?)) ON CONFLICT DO NOTHING`;
  connection.statement(insert).run(name, other ?? null, secret);
}

/** @throws Error when the read model isn't prepared */
export function secretOf(connection: Connection, readModel: string): string {
  const [row] = connection.rows('SELECT secret FROM secrets WHERE read_model = ?', [readModel]);
  if (row === undefined) throw new Error(`the read model ${readModel} isn't prepared`);
  return String(row[0]);
}
