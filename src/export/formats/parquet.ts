// Rows as a Parquet file, written a group of rows at a time.

import { zstdCompressSync } from 'node:zlib';

import { type ColumnSource, fileWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';

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
const compressors = { ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes) };

export function parquetParts(columns: readonly Column[]): OpenPart {
  const schema: SchemaElement[] = [{ name: 'root', num_children: columns.length }, ...columns.map(elementOf)];
  return (path) => openParquetPart(path, columns, schema);
}

function openParquetPart(path: string, columns: readonly Column[], schema: SchemaElement[]): Part {
  const parquet = new ParquetWriter({
    writer: fileWriter(path),
    schema,
    codec: 'ZSTD',
    compressors,
    createdBy: 'Herald',
  });
  let data = columns.map((): unknown[] => []);
  let rows = 0;
  let held = 0;
  const flush = () => {
    if (rows === 0) return;
    const columnData = columns.map(({ name }, i): ColumnSource => ({ name, data: data[i] ?? [] }));
    void parquet.write({ columnData, rowGroupSize: rows });
    data = columns.map(() => []);
    rows = 0;
    held = 0;
  };
  return {
    get heldBytes() {
      return held;
    },
    add(row) {
      for (let i = 0; i < columns.length; i++) {
        const cell = row[i] ?? null;
        const kind = columns[i]?.kind ?? 'text';
        data[i]?.push(cell === null ? null : valueOf[kind](cell));
        held += typeof cell === 'string' ? cell.length + cellBytes : cellBytes;
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
