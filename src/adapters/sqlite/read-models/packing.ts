// Documents as their rows hold them: JSON text, or packed where the collection says which keys its documents have.
//
//   {"id":"n1","tenantId":"t1","round":1,"attempts":[{"attempt":1,"outcome":null}]}     as it is
//   [1,[[1,null]]]                                                                      packed: `id` and `tenantId` are columns of the row
//
// A list of texts that are equally long is one text: ["abc","def"] with 3 characters each is "abcdef".
//
// A packed document begins with [ and one that is kept as it is with {, in one table: what has other keys, or a column that wouldn't give back what was
// written, is kept as it is. The form follows from the document alone, so equal documents are equal rows.

import type { DocumentShape, ObjectShape } from '../../../ports/document-shape.ts';
import type { Document } from '../../../ports/read-model-store.ts';
import { documentBytesMax, documentText } from '../../../ports/read-model-store.ts';
import type { Cell } from '../connection.ts';

/** How the documents of a table are packed. */
export interface Packing {
  readonly shape: DocumentShape;
  /** Read with the text to have the document, in this order. */
  readonly columns: readonly string[];
  readonly slots: readonly Slot[];
  /** What unpacking adds to a text at most: for the document's own keys, and for each of its bytes. */
  readonly keyBytes: number;
  readonly growth: number;
}

/** Where the value of a key stands. */
interface Slot {
  readonly key: string;
  /** Among the columns, or that it is the row's id, or that it stands in the text. */
  readonly at: number | 'id' | 'text';
  readonly inside: readonly ObjectShape[] | undefined;
  /** Of each text in the list there. */
  readonly characters: number | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** @throws Error for a shape that isn't one */
export function packingOf(collection: string, shape: DocumentShape, declared: ReadonlySet<string>): Packing {
  const undeclared = shape.beside.find((key) => !declared.has(key));
  if (undeclared !== undefined) throw new Error(`${collection} keeps ${undeclared} beside its documents, and no field`);
  checkShape(collection, shape);
  const columns = shape.beside;
  const atOf = (key: string): Slot['at'] => {
    if (key === shape.id) return 'id';
    return columns.includes(key) ? columns.indexOf(key) : 'text';
  };
  const slots = shape.keys.map((key): Slot => ({
    key,
    at: atOf(key),
    inside: shape.inside?.[key],
    characters: shape.texts?.[key],
  }));
  for (const [key, characters] of Object.entries(shape.texts ?? {})) {
    const isList = slots.some((slot) => slot.key === key && slot.at === 'text' && slot.inside === undefined);
    if (!isList || !(characters >= 1))
      throw new Error(`${collection} joins the texts of ${key}, which aren't a list of its documents`);
  }
  return { shape, columns, slots, keyBytes: bytesOfKeys(shape.keys), growth: growthOf(shape) };
}

/** `"key":` and a comma each; keys are ASCII. */
function bytesOfKeys(keys: readonly string[]): number {
  return keys.reduce((sum, key) => sum + key.length + '"":,'.length, 0);
}

/** For each byte of the text: it is of a joined text, or one object's own, as its brackets and commas are, and a byte at least of each value but objects. */
function growthOf({ inside = {}, texts = {} }: Pick<DocumentShape, 'inside' | 'texts'>): number {
  const ofObjects = Object.values(inside)
    .flat()
    .map((shape) => {
      const { keys, inside: further = {} } = shape;
      const own = keys.length + 1 + (keys.length - Object.keys(further).length);
      return Math.max(bytesOfKeys(keys) / own, growthOf(shape));
    });
  const ofTexts = Object.values(texts).map((characters) => '"",'.length / characters);
  return Math.max(0, ...ofObjects, ...ofTexts);
}

function checkShape(collection: string, { keys, inside = {} }: ObjectShape): void {
  for (const [key, shapes] of Object.entries(inside)) {
    if (!keys.includes(key)) throw new Error(`${collection} says what is in ${key}, which its documents don't have`);
    if (new Set(shapes.map((shape) => shape.keys.length)).size < shapes.length)
      throw new Error(`${collection} has two shapes of as many keys in ${key}: one isn't told from the other`);
    for (const shape of shapes) {
      // A list of one value is a list of objects.
      if (shape.keys.length < 2)
        throw new Error(`${collection} has a shape of one key in ${key}: it isn't told from a list`);
      checkShape(collection, shape);
    }
  }
}

/**
 * The text of a document's row. @param packing null: of a table that packs none
 * @throws DocumentTooLargeError by its size as it is, as any store does
 */
export function rowText(packing: Packing | null, collection: string, id: string, document: Document): string {
  const values = packing === null ? null : valuesOf(packing, id, document as Fields);
  if (values === null) return documentText(collection, id, document);
  const text = JSON.stringify(values);
  if (text.length > surelySmall) documentText(collection, id, document);
  return text;
}

/** Characters: with three bytes each, all that columns hold and all keys, 101 attempts of 20 in 40 KiB, a document has half of what it may. */
const surelySmall = documentBytesMax / 8;

/** Of a text column; with 20 of them whose every character takes six in JSON 120 KB. */
const besideCharactersMax = 1000;

/** null: it is kept as it is. */
function valuesOf({ slots, shape: { keys } }: Packing, id: string, document: Fields): unknown[] | null {
  if (!hasKeys(document, keys)) return null;
  const values: unknown[] = [];
  for (const { key, at, inside, characters } of slots) {
    const value = document[key];
    if (at === 'text') {
      const packed = characters === undefined ? packedValue(value, inside) : joined(value, characters);
      if (packed === undefined) return null;
      values.push(packed);
    } else if (at === 'id' ? value !== id : !isGivenBack(value)) return null;
  }
  return values;
}

/** These and no others, in this order. */
function hasKeys(object: Fields, keys: readonly string[]): boolean {
  let i = 0;
  for (const key in object) if (keys[i++] !== key) return false;
  return i === keys.length;
}

/** By a column: SQLite's texts end where a character 0 is, and have no lone surrogates; its integers may be none of JavaScript's. */
function isGivenBack(value: unknown): boolean {
  if (value === null) return true;
  if (typeof value === 'string')
    return value.length <= besideCharactersMax && value.isWellFormed() && !value.includes('\0');
  return (
    typeof value === 'number' && (Number.isSafeInteger(value) || !Number.isInteger(value)) && !Object.is(value, -0)
  );
}

/** As one text where it is a list of such; undefined: a text of its own, which can't be told from that. */
function joined(value: unknown, characters: number): unknown {
  if (typeof value === 'string') return undefined;
  if (!Array.isArray(value) || value.length === 0) return value;
  const isOfSuch = value.every((text) => typeof text === 'string' && text.length === characters);
  return isOfSuch ? value.join('') : value;
}

function parted(value: unknown, characters: number): unknown {
  if (typeof value !== 'string') return value;
  const texts: string[] = [];
  for (let at = 0; at < value.length; at += characters) texts.push(value.slice(at, at + characters));
  return texts;
}

/** undefined: it can't be told from what it would be packed as. */
function packedValue(value: unknown, shapes: readonly ObjectShape[] | undefined): unknown {
  if (shapes === undefined || typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) return packedObject(value as Fields, shapes);
  // In a list of its own: one of several values is an object.
  const items = value.map((item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? packedObject(item as Fields, shapes)
      : undefined,
  );
  return items.includes(undefined) ? undefined : [items];
}

/** The list of its values, or the object where none of the shapes is its. */
function packedObject(object: Fields, shapes: readonly ObjectShape[]): unknown {
  const shape = shapes.find(({ keys }) => hasKeys(object, keys));
  if (shape === undefined) return object;
  const values: unknown[] = [];
  for (const key of shape.keys) {
    const value = packedValue(object[key], shape.inside?.[key]);
    if (value === undefined) return undefined;
    values.push(value);
  }
  return values;
}

/** The document of a row: its text, then the columns of the packing. */
export function documentOfRow(packing: Packing | null, id: string, row: readonly Cell[]): Document {
  const stored = JSON.parse(String(row[0])) as Fields | readonly unknown[];
  if (packing === null || !isList(stored)) return stored;
  const document: Record<string, unknown> = {};
  let next = 0;
  for (const { key, at, inside, characters } of packing.slots) {
    if (at === 'text') {
      const value = stored[next++];
      document[key] = characters === undefined ? unpackedValue(value, inside) : parted(value, characters);
    } else document[key] = at === 'id' ? id : row[at + 1];
  }
  return document;
}

/** The text as it was written. */
export function textOfRow(packing: Packing | null, id: string, row: readonly Cell[]): string {
  const text = String(row[0]);
  return packing === null || text.startsWith('{') ? text : JSON.stringify(documentOfRow(packing, id, row));
}

/** The text as it was written has no more: told without unpacking the row, whose last cell is its id. */
export function bytesAtMost(packing: Packing | null, row: readonly Cell[]): number {
  const stored = Buffer.byteLength(String(row[0]));
  if (packing === null) return stored;
  let beside = valueBytesAtMost(row.at(-1) ?? null);
  for (let at = 1; at <= packing.columns.length; at++) beside += valueBytesAtMost(row[at] ?? null);
  return packing.keyBytes + stored * (1 + packing.growth) + beside;
}

/** Each character as JSON's `\u001f`; a number as `-1.7976931348623157e+308`. */
function valueBytesAtMost(value: Cell): number {
  return typeof value === 'string' ? value.length * 6 + '""'.length : 24;
}

/** SQL for a key's value in a document that is there. */
export function valueSql(packing: Packing | null, key: string): string {
  const asItIs = `document ->> '$.${key}'`;
  const slots = packing?.slots.filter(({ at }) => at === 'text') ?? [];
  const place = slots.findIndex((slot) => slot.key === key);
  return place < 0 ? asItIs : `CASE WHEN document LIKE '[%' THEN document ->> '$[${place}]' ELSE ${asItIs} END`;
}

function unpackedValue(value: unknown, shapes: readonly ObjectShape[] | undefined): unknown {
  if (shapes === undefined || !isList(value)) return value;
  const [first] = value;
  if (value.length === 1 && isList(first)) return first.map((item) => unpackedObject(item, shapes));
  return unpackedObject(value, shapes);
}

function unpackedObject(value: unknown, shapes: readonly ObjectShape[]): unknown {
  if (!isList(value)) return value;
  const shape = shapes.find(({ keys }) => keys.length === value.length);
  if (shape === undefined) throw new Error(`a packed object of ${value.length} values has no shape`);
  const object: Record<string, unknown> = {};
  shape.keys.forEach((key, i) => {
    object[key] = unpackedValue(value[i], shape.inside?.[key]);
  });
  return object;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
