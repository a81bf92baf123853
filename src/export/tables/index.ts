// The tables of an export by name, and where their rows come from.

import { assertNever } from '../../domain/assert-never.ts';
import type { Table, TableName } from '../columns.ts';
import type { Source, SourceOptions } from '../source.ts';
import { eventsSource } from '../source.ts';
import { foldedSource } from '../fold.ts';
import { attemptsTable, foldAttempts } from './attempts.ts';
import { eventsTable } from './events.ts';
import { foldNotifications, notificationsTable } from './notifications.ts';

export const tables: Readonly<Record<TableName, Table>> = {
  events: eventsTable,
  notifications: notificationsTable,
  attempts: attemptsTable,
};

export interface TableSourceOptions extends SourceOptions {
  readonly table: TableName;
  /** ISO 8601: up to when the export knows the log that the rows are of. */
  readonly asOf: string;
  /** A folder for what a fold has to lay aside; made when it is needed. */
  readonly scratch: string;
}

export function sourceOf(options: TableSourceOptions): Source {
  const exportedAt = Date.parse(options.asOf);
  switch (options.table) {
    case 'events':
      return eventsSource(options);
    case 'notifications':
      return foldedSource({ ...options, beginFold: () => foldNotifications(exportedAt) });
    case 'attempts':
      return foldedSource({ ...options, beginFold: () => foldAttempts(exportedAt) });
    default:
      return assertNever(options.table);
  }
}
