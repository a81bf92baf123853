// What a table of an export is: its columns by name, kind and meaning, and rows as arrays in that order.

export const columnKinds = ['text', 'integer', 'timestamp', 'boolean', 'json'] as const;
export type ColumnKind = (typeof columnKinds)[number];

/** A timestamp is UTC ms, a json its text. */
export type Cell = string | number | boolean | null;
export type Row = readonly Cell[];

export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
  /** For whoever reads the table. */
  readonly about: string;
}

export const tableNames = ['events', 'notifications', 'attempts'] as const;
export type TableName = (typeof tableNames)[number];

/** Of tables whose rows are told anew: with each `--since` and with each later `--to` it rises, and nothing that an event says does so with every change. */
export const exportedAtColumn: Column = {
  name: 'exportedAt',
  kind: 'timestamp',
  about:
    'Up to when the log was read for it: of several rows of one the latest by this counts, in whatever order they were exported.',
};

export interface Table {
  readonly name: TableName;
  /** Of one row, for whoever reads it. */
  readonly about: string;
  readonly columns: readonly Column[];
  /** The timestamp by whose UTC day rows are split, and the text by whose tenant. */
  readonly day: string;
  readonly tenant: string;
}

export function columnAt({ columns }: Pick<Table, 'columns'>, name: string): number {
  const at = columns.findIndex((column) => column.name === name);
  if (at < 0) throw new Error(`there is no column ${name}`);
  return at;
}
