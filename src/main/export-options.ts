// The options of herald export, checked.

import { parseArgs } from 'node:util';

import type { Channel, EventType } from '../domain/events.ts';
import { channels } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { nearMiss } from '../domain/near-miss.ts';
import { tableNames, type TableName } from '../export/columns.ts';
import { type Format, formats } from '../export/formats/index.ts';
import { type Split, splits } from '../export/manifest.ts';
import { UsageError } from './usage-error.ts';

export interface ExportOptions {
  /** A folder; '-': stdout. */
  readonly out: string;
  /** What wasn't said is null: an export that goes on from another takes it from there. */
  readonly table: TableName | null;
  readonly format: Format;
  readonly split: Split;
  readonly tenant: TenantId | null;
  readonly channels: readonly Channel[] | null;
  readonly types: readonly EventType[] | null;
  readonly from: number | null;
  readonly to: number | null;
  readonly since: string | null;
  readonly rowsPerFile: number;
}

/** Lost at most when it is killed: some seconds. */
const defaultRowsPerFile = 250_000;
const rowsPerFileMax = 10_000_000;

const options = {
  out: { type: 'string' },
  table: { type: 'string' },
  format: { type: 'string' },
  split: { type: 'string' },
  tenant: { type: 'string' },
  channel: { type: 'string' },
  type: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  since: { type: 'string' },
  verify: { type: 'string' },
  'rows-per-file': { type: 'string' },
} as const;

/** @throws UsageError */
export function exportOptions(
  args: string[],
  types: readonly EventType[],
): ExportOptions | { readonly verify: string } {
  const { values } = parseArgs({ args, options });
  const { verify, out, since = null } = values;
  if (verify !== undefined) {
    if (Object.keys(values).length > 1) throw new UsageError('--verify: goes without other options');
    return { verify };
  }
  if (out === undefined) throw new UsageError('--out: name a folder for the export, or - for stdout');
  const split = values.split === undefined ? 'none' : oneOf('--split', values.split, splits);
  const format = values.format === undefined ? 'ndjson' : oneOf('--format', values.format, formats);
  if (out === '-' && format === 'parquet') throw new UsageError('--format: parquet needs a folder as --out');
  if (out === '-' && split !== 'none') throw new UsageError('--split: needs a folder as --out');
  const asked: ExportOptions = {
    out,
    table: values.table === undefined ? null : oneOf('--table', values.table, tableNames),
    format,
    split,
    tenant: values.tenant === undefined ? null : (values.tenant as TenantId),
    channels: values.channel === undefined ? null : listOf('--channel', spelled(values.channel), channels),
    types: values.type === undefined ? null : listOf('--type', values.type, types),
    from: timeOf('--from', values.from),
    to: timeOf('--to', values.to),
    since,
    rowsPerFile: rowsOf(values['rows-per-file']),
  };
  checkTogether(asked);
  return asked;
}

function checkTogether({ table, types, from, to, since }: ExportOptions): void {
  if (types !== null && table !== null && table !== 'events')
    throw new UsageError(`--type: is for the table events; ${table} are folded from all that is told of them`);
  if (from !== null && since !== null) throw new UsageError('--from: --since says already where it begins');
  if (from !== null && to !== null && from >= to) throw new UsageError('--to: should be later than --from');
}

function spelled(text: string): string {
  return text.toUpperCase().replaceAll('-', '_');
}

function oneOf<T extends string>(option: string, text: string, names: readonly T[]): T {
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  const meant = nearMiss(text, [...names]);
  throw new UsageError(
    `${option}: there is no ${text}${meant === null ? '' : `; did you mean ${meant}?`} There are ${names.join(', ')}`,
  );
}

/** Ascending, each once: the same list however it was typed. */
function listOf<T extends string>(option: string, text: string, names: readonly T[]): readonly T[] {
  return [...new Set(text.split(',').map((name) => oneOf(option, name.trim(), names)))].sort();
}

function timeOf(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError(`${option}: should be an ISO 8601 time, like 2026-11-22T00:00:00Z`);
  return time;
}

function rowsOf(text: string | undefined): number {
  const rows = Number(text ?? defaultRowsPerFile);
  if (!Number.isInteger(rows) || rows < 1 || rows > rowsPerFileMax)
    throw new UsageError(`--rows-per-file: should be a whole number from 1 to ${rowsPerFileMax}`);
  return rows;
}
