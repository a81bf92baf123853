// The next version of a read model beside the one in use: begun empty, compared at equal positions, swapped in or
// thrown away.

import type { DatabaseSync } from 'node:sqlite';

import type { RebuildComparison } from '../../../ports/read-model-rebuild.ts';
import type { IndexesMade, ReadModelDefinition } from '../../../ports/read-model-store.ts';
import type { Cell, Connection } from '../connection.ts';
import { noteIndexed } from './indexing.ts';
import { textOfRow } from './packing.ts';
import { makeSecret } from './secrets.ts';
import { dropTable, prepareTable, type Table } from './tables.ts';
import { definitionText, loadVersions, type ModelVersion, modelVersionOf, type VersionState } from './view.ts';

const differingMax = 10;

/** An empty next version; what an earlier attempt left is removed. */
export function beginNextVersion(
  connection: Connection,
  definition: ReadModelDefinition,
  indexes: IndexesMade = 'at once',
): ModelVersion {
  return connection.transaction(() => {
    const { db } = connection;
    abandonLeft(db, definition.name);
    const next = modelVersionOf(definition, (versionIn(db, definition.name, 'current')?.version ?? 0) + 1);
    const insert = "INSERT INTO read_models (name, state, version, definition) VALUES (?, 'next', ?, ?)";
    connection.statement(insert).run(definition.name, next.version, definitionText(definition));
    for (const table of next.tables) prepareTable(db, table, indexes);
    makeSecret(connection, definition);
    return next;
  });
}

/** Whoever began it may have left its indexes for its end, which this one doesn't wait for. @throws Error when no rebuild was begun */
export function resumeNextVersion(connection: Connection, readModel: string): ModelVersion {
  return connection.transaction(() => {
    const next = nextVersion(connection.db, readModel);
    for (const table of next.tables) prepareTable(connection.db, table, 'at once');
    return next;
  });
}

export function compareVersions(connection: Connection, readModel: string): RebuildComparison {
  const { db } = connection;
  const next = nextVersion(db, readModel);
  const current = versionIn(db, readModel, 'current');
  const documents = next.tables.reduce((sum, table) => sum + countOf(db, table), 0);
  const positionsOfCurrent = current === null ? '' : positionsText(db, current);
  if (current === null || positionsOfCurrent !== positionsText(db, next))
    return { equal: null, documents, differing: [] };
  const differing = next.tables.flatMap((table) => {
    const before = current.tables.find(({ collection }) => collection === table.collection);
    return differingIds(db, before, table).map((id) => `${table.collection}/${id}`);
  });
  return { equal: differing.length === 0, documents, differing: differing.slice(0, differingMax) };
}

/** All or nothing; the old version is retired. Epochs go on above those of both versions, so whoever owned a number before is stale. */
export function swapVersions(connection: Connection, readModel: string): void {
  connection.transaction(() => {
    const { db } = connection;
    const next = nextVersion(db, readModel);
    const current = versionIn(db, readModel, 'current');
    if (current !== null) {
      connection.statement(raiseEpochsSql).run(current.version, readModel, next.version);
      retire(db, current);
    }
    connection.statement("UPDATE read_models SET state = 'current' WHERE name = ? AND state = 'next'").run(readModel);
    connection.statement('DELETE FROM catching_up WHERE read_model = ?').run(readModel);
    noteIndexed(connection, readModel);
  });
}

/** The version is nobody's any more and stays where it is, to be removed in steps, in place of one that was to be. */
function retire(db: DatabaseSync, { name, version }: ModelVersion): void {
  abandonLeft(db, retiredName(name));
  forgetPositions(db, { name, version });
  const rename = "UPDATE read_models SET name = ?, state = 'next' WHERE name = ? AND state = 'current'";
  db.prepare(rename).run(retiredName(name), name);
}

/** Under which the version that was swapped out stands. */
export function retiredName(readModel: string): string {
  return `${readModel} retired`;
}

export function abandonNextVersion(connection: Connection, readModel: string): void {
  connection.transaction(() => abandonLeft(connection.db, readModel));
}

/** Inside of a transaction: removes the next version, whatever there is of it. */
export function abandonLeft(db: DatabaseSync, readModel: string): void {
  const left = leftVersion(db, readModel);
  if (left !== null) dropVersion(db, left, 'next');
}

export function leftVersion(db: DatabaseSync, readModel: string): ModelVersion | null {
  return versionIn(db, readModel, 'next');
}

const raiseEpochsSql = `
  UPDATE positions AS p SET epoch = 1 + max(epoch, coalesce((SELECT epoch FROM positions AS before
    WHERE before.read_model = p.read_model AND before.partition = p.partition AND before.version = ?), 0))
  WHERE read_model = ? AND version = ?`;

function versionIn(db: DatabaseSync, readModel: string, state: VersionState): ModelVersion | null {
  return loadVersions(db, state).find(({ name }) => name === readModel) ?? null;
}

/** @throws Error when no rebuild was begun */
function nextVersion(db: DatabaseSync, readModel: string): ModelVersion {
  const next = leftVersion(db, readModel);
  if (next === null) throw new Error(`no rebuild of ${readModel} was begun`);
  return next;
}

function dropVersion(db: DatabaseSync, model: ModelVersion, state: VersionState): void {
  for (const table of model.tables) dropTable(db, table);
  forgetPositions(db, model);
  db.prepare('DELETE FROM read_models WHERE name = ? AND state = ?').run(model.name, state);
}

function forgetPositions(db: DatabaseSync, { name, version }: Pick<ModelVersion, 'name' | 'version'>): void {
  for (const table of ['positions', 'folded_ahead'])
    db.prepare(`DELETE FROM ${table} WHERE read_model = ? AND version = ?`).run(name, version);
}

/** A number that was owned and never moved stands where one does that was never owned. */
function positionsText(db: DatabaseSync, model: ModelVersion): string {
  const sql = `SELECT partition, offsets FROM positions
    WHERE read_model = ? AND version = ? AND offsets <> '{}' ORDER BY partition`;
  return JSON.stringify(db.prepare(sql).all(model.name, model.version));
}

function countOf(db: DatabaseSync, table: Table): number {
  return Number(db.prepare(`SELECT count(*) AS n FROM ${table.name}`).get()?.['n'] ?? 0);
}

/** Ids whose JSON text differs, or that one of them lacks; the columns follow from it. Versions may be packed otherwise. */
function differingIds(db: DatabaseSync, before: Table | undefined, after: Table): string[] {
  if (before === undefined) return idsOf(db, `SELECT id FROM ${after.name} LIMIT ${differingMax}`);
  const gone = `SELECT b.id FROM ${before.name} AS b LEFT JOIN ${after.name} AS a ON a.id = b.id
    WHERE a.id IS NULL LIMIT ${differingMax}`;
  return [...changedIds(db, before, after), ...idsOf(db, gone)];
}

function changedIds(db: DatabaseSync, before: Table, after: Table): string[] {
  const both = `${after.name} AS a LEFT JOIN ${before.name} AS b ON b.id = a.id`;
  if (before.packing === null && after.packing === null)
    return idsOf(db, `SELECT a.id FROM ${both} WHERE b.document IS NOT a.document LIMIT ${differingMax}`);
  const columnsOf = (table: Table, alias: string) => table.documentColumns.map((column) => `${alias}.${column}`);
  const select = db.prepare(
    `SELECT ${[...columnsOf(after, 'a'), ...columnsOf(before, 'b'), 'a.id'].join(', ')} FROM ${both}`,
  );
  select.setReturnArrays(true);
  const changed: string[] = [];
  for (const row of select.iterate() as Iterable<unknown> as Iterable<Cell[]>) {
    const id = String(row.at(-1));
    const ofBefore = row.slice(after.documentColumns.length);
    const isSame =
      ofBefore[0] !== null && textOfRow(before.packing, id, ofBefore) === textOfRow(after.packing, id, row);
    if (!isSame && changed.push(id) === differingMax) break;
  }
  return changed;
}

function idsOf(db: DatabaseSync, sql: string): string[] {
  return db
    .prepare(sql)
    .all()
    .map((row) => String(row['id']));
}
