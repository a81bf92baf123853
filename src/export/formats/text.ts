// Rows as lines of text: NDJSON and CSV.

import { csvField } from '../../domain/csv.ts';
import type { Cell, Column, ColumnKind, Row } from '../columns.ts';

export interface LineFormat {
  /** What a file begins with; '' for nothing. */
  readonly head: string;
  /** With its line end. */
  line(row: Row): string;
}

/** One JSON object a line; times as ISO 8601 in UTC. */
export function ndjson(columns: readonly Column[]): LineFormat {
  const names = columns.map(({ name }, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  const write = columns.map(({ kind }) => jsonOf[kind]);
  return {
    head: '',
    line(row) {
      let line = '';
      for (let i = 0; i < names.length; i++) {
        const cell = row[i] ?? null;
        line += names[i];
        line += cell === null ? 'null' : write[i]?.(cell);
      }
      return `${line}}\n`;
    },
  };
}

/** RFC 4180 with the names of the columns first. Nothing between commas is null, an empty text is "". */
export function csv(columns: readonly Column[]): LineFormat {
  const write = columns.map(({ kind }) => csvOf[kind]);
  return {
    head: `${columns.map(({ name }) => name).join(',')}\r\n`,
    line(row) {
      let line = '';
      for (let i = 0; i < write.length; i++) {
        const cell = row[i] ?? null;
        if (i > 0) line += ',';
        if (cell !== null) line += write[i]?.(cell);
      }
      return `${line}\r\n`;
    },
  };
}

type Write = (cell: Exclude<Cell, null>) => string;

const jsonOf: Readonly<Record<ColumnKind, Write>> = {
  text: (cell) => JSON.stringify(cell),
  integer: String,
  timestamp: (cell) => `"${isoOf(cell)}"`,
  boolean: String,
  json: String,
};

const csvOf: Readonly<Record<ColumnKind, Write>> = {
  text: (cell) => csvField(String(cell)),
  integer: String,
  timestamp: (cell) => isoOf(cell),
  boolean: String,
  json: (cell) => csvField(String(cell)),
};

const dayMs = 86_400_000;
const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));
let dayKnown = Number.NaN;
let dayText = '';

/** As toISOString, in a third of its time: the day is the one of the row before, mostly. */
function isoOf(cell: Exclude<Cell, null>): string {
  const time = Number(cell);
  const day = Math.floor(time / dayMs);
  if (day !== dayKnown) {
    dayText = new Date(time).toISOString().slice(0, -'00:00:00.000Z'.length);
    dayKnown = day;
  }
  const ms = time - day * dayMs;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = twoDigits[Math.floor(minutes / 60)];
  return `${dayText}${hours}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}.${String(ms % 1000).padStart(3, '0')}Z`;
}
