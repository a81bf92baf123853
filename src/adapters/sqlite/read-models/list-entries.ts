// The entries of documents in the index of a list: what they are, and how they are written.

import type { StatementSync } from 'node:sqlite';

import type { Document, FieldValue } from '../../../ports/read-model-store.ts';
import { firstPlace, isOrderNumber, lastPlace, placeOf, placesOf } from './list-places.ts';
import type { Table, TableIndex } from './tables.ts';
import { quoted } from './tables.ts';

export interface Entry {
  /** By which the document is found, as words. */
  readonly words: string;
  readonly number: number;
}

/** null: the document isn't in the index. @throws TypeError where the list or the number is something else */
export function entryOf(table: Table, index: TableIndex, document: Document): Entry | null {
  const [list = '', order = ''] = index.fields;
  const values = document as Readonly<Record<string, unknown>>;
  const texts = values[list] ?? [];
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
    throw new TypeError(`${table.collection}.${list} is declared as texts and was given something else`);
  const number = values[order] ?? null;
  if (texts.length === 0 || number === null) return null;
  if (typeof number !== 'number' || !isOrderNumber(number))
    throw new TypeError(`${table.collection}.${order} orders a list and is no whole number of 43 bits`);
  return { words: texts.map(wordOf).join(' '), number };
}

/** The query for documents that have this text. No text is null's word. */
export function matchOf(text: FieldValue): string {
  return `"${text === null ? 'xnull' : wordOf(String(text))}"`;
}

/** What a transaction changes in one index, by document. Plain data: it is made for each transaction, and what is done with it is compiled once. */
export type EntryChanges = Map<string, { readonly before: Entry | null; readonly after: Entry | null }>;

/** The last one of a document counts. @param before as stored now */
export function changeEntry(changes: EntryChanges, id: string, before: Entry | null, after: Entry | null): void {
  const known = changes.get(id);
  changes.set(id, { before: known === undefined ? before : known.before, after });
}

/** In the order of their places, since a lower one after a higher ends a segment. */
export function writeEntries(changes: EntryChanges, index: TableIndex, prepare: Prepare): void {
  const added: Added[] = [];
  for (const [id, { before, after }] of changes) {
    if (isSame(before, after)) continue;
    if (before !== null) remove(index, prepare, id, before);
    if (after !== null)
      added.push({ id, words: after.words, number: after.number, place: placeOf(after.number, id, 0) });
  }
  added.sort(byPlace);
  for (const one of added) add(index, prepare, one);
}

type Prepare = (sql: string) => StatementSync;

interface Added extends Entry {
  readonly id: string;
  readonly place: bigint;
}

function byPlace(a: Added, b: Added): number {
  return a.place < b.place ? -1 : 1;
}

/** Letters and digits of ASCII are a word of SQLite's as they are; any other text is `x` and its bytes. */
function wordOf(text: string): string {
  return /^[0-9a-wyz][0-9a-z]*$/.test(text) ? text : `x${Buffer.from(text).toString('hex')}`;
}

function isSame(a: Entry | null, b: Entry | null): boolean {
  return a?.words === b?.words && a?.number === b?.number;
}

/** So many of one number that stand together are more than chance gives. */
const furtherMax = 1000;

function add(index: TableIndex, prepare: Prepare, { id, number, words }: Added): void {
  const insertPlace = prepare(
    `INSERT INTO ${quoted(placesOf(index))} (place, id) VALUES (?, ?) ON CONFLICT DO NOTHING`,
  );
  for (let further = 0; further < furtherMax; further++) {
    const place = placeOf(number, id, further);
    if (Number(insertPlace.run(place, id).changes) === 0) continue;
    prepare(`INSERT INTO ${quoted(index.name)} (rowid, texts) VALUES (?, ?)`).run(place, words);
    return;
  }
  throw new Error(`${index.name} has no place left at ${number}`);
}

function remove(index: TableIndex, prepare: Prepare, id: string, { number }: Entry): void {
  const own = [firstPlace(number), lastPlace(number), id] as const;
  const where = 'place BETWEEN ? AND ? AND id = ?';
  const place = `SELECT place FROM ${quoted(placesOf(index))} WHERE ${where}`;
  prepare(`DELETE FROM ${quoted(index.name)} WHERE rowid = (${place})`).run(...own);
  prepare(`DELETE FROM ${quoted(placesOf(index))} WHERE ${where}`).run(...own);
}
