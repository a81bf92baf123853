// Rows as a Parquet file, written a group of rows at a time.

import { appendFileSync, writeFileSync } from 'node:fs';
import { zstdCompressSync } from 'node:zlib';

import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement, type Writer } from 'hyparquet-writer';

import { assertNever } from '../../domain/assert-never.ts';
import type { Cell, Column, ColumnKind } from '../columns.ts';
import type { OpenPart, Part } from './index.ts';

/**
 * A group of rows ends with so many, or so many bytes of their texts: readers skip groups, and one stands in memory some 4 times while it is written, and is
 * looked at by each collection of garbage until then: with twice as many an event takes a sixth more.
 */
const groupRowsMax = 16_384;
const groupBytesMax = 6 * 1024 * 1024;
/** Of a cell beside its text. */
const cellBytes = 8;
/**
 * The least and the greatest of a group's texts are told where none is longer: a footer keeps them whole until the file ends, and writes 16 bytes of each.
 * Names and ids are shorter; of bodies of 190 KiB a group of 30 rows would keep 0.4 MiB.
 */
const boundCharsMax = 64;
/** What a group's footer takes of memory for each column until the file ends; measured, 930. */
const footerColumnBytes = 1024;
const compressors = { ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes) };

export function parquetParts(columns: readonly Column[]): OpenPart {
  const schema: SchemaElement[] = [{ name: 'root', num_children: columns.length }, ...columns.map(elementOf)];
  return (path) => openParquetPart(path, columns, schema);
}

function openParquetPart(path: string, columns: readonly Column[], schema: SchemaElement[]): Part {
  const parquet = new ParquetWriter({
    writer: writerOf(path),
    schema,
    codec: 'ZSTD',
    compressors,
    createdBy: 'Herald',
  });
  let data = columns.map((): unknown[] => []);
  let longest = columns.map(() => 0);
  let rows = 0;
  let held = 0;
  let groups = 0;
  const flush = () => {
    if (rows === 0) return;
    const columnData = columns.map(({ name }, i): ColumnSource => {
      return { name, data: data[i] ?? [], statistics: (longest[i] ?? 0) <= boundCharsMax };
    });
    void parquet.write({ columnData, rowGroupSize: rows });
    data = columns.map(() => []);
    longest = columns.map(() => 0);
    rows = 0;
    held = 0;
    groups++;
  };
  return {
    get heldBytes() {
      return held;
    },
    get footerBytes() {
      return groups * columns.length * footerColumnBytes;
    },
    add(row) {
      for (let i = 0; i < columns.length; i++) {
        const cell = row[i] ?? null;
        const kind = columns[i]?.kind ?? 'text';
        data[i]?.push(cell === null ? null : valueOf[kind](cell));
        const chars = typeof cell === 'string' ? cell.length : 0;
        held += chars + cellBytes;
        longest[i] = Math.max(longest[i] ?? 0, chars);
      }
      rows++;
      if (rows >= groupRowsMax || held >= groupBytesMax) flush();
    },
    flush,
    end() {
      flush();
      void parquet.finish();
    },
  };
}

/** Of a group what it has is on the disk, and its memory free, once it is written: with `--split tenant` thousands of files wait for their next one. */
function writerOf(path: string): Writer {
  const writer = new ByteWriter();
  writeFileSync(path, '');
  const flush = () => {
    appendFileSync(path, writer.getBytes());
    const { buffer, view } = new ByteWriter();
    Object.assign(writer, { buffer, view, index: 0 });
  };
  return Object.assign(writer, { flush, finish: flush });
}

const valueOf: Readonly<Record<ColumnKind, (cell: Exclude<Cell, null>) => unknown>> = {
  text: (cell) => cell,
  integer: (cell) => BigInt(cell),
  timestamp: (cell) => BigInt(cell),
  boolean: (cell) => cell,
  // Its text, not a value that is written as one anew: numbers keep their digits.
  json: (cell) => cell,
};

function elementOf({ name, kind }: Column): SchemaElement {
  const optional = { name, repetition_type: 'OPTIONAL' } as const;
  switch (kind) {
    case 'text':
    case 'json':
      return { ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
    case 'integer':
      return { ...optional, type: 'INT64' };
    case 'timestamp':
      return {
        ...optional,
        type: 'INT64',
        converted_type: 'TIMESTAMP_MILLIS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
      };
    case 'boolean':
      return { ...optional, type: 'BOOLEAN' };
    default:
      return assertNever(kind);
  }
}
