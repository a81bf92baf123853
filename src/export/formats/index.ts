// The formats of an export's files: what takes rows and leaves a file.

import { assertNever } from '../../domain/assert-never.ts';
import type { Column, Row } from '../columns.ts';
import { csv, ndjson } from './text.ts';
import { openTextPart } from './text-part.ts';

export const formats = ['ndjson', 'csv', 'parquet'] as const;
export type Format = (typeof formats)[number];

/** One file that is being written. No file stays open between calls: with `--split tenant` there may be thousands. */
export interface Part {
  /** Of what waits in memory, about. */
  readonly heldBytes: number;
  /** Of what stays in memory until its end, whatever is flushed, about. */
  readonly footerBytes: number;
  add(row: Row): void;
  /** Writes what waits. @throws Error when it can't be written */
  flush(): void;
  /** Writes what a file ends with, too. */
  end(): void;
}

export type OpenPart = (path: string) => Part;

/** The engine of a format is loaded with its first use. */
export async function partsOf(format: Format, columns: readonly Column[]): Promise<OpenPart> {
  switch (format) {
    case 'ndjson':
      return (path) => openTextPart(path, ndjson(columns));
    case 'csv':
      return (path) => openTextPart(path, csv(columns));
    case 'parquet':
      return (await import('./parquet.ts')).parquetParts(columns);
    default:
      return assertNever(format);
  }
}
