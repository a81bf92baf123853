// What the settings belong to, in settings.db: their log and their secret.

import type { SettingsStore } from '../../../ports/settings-store.ts';
import type { Connection } from '../connection.ts';
import { text } from './rows.ts';

type Marks = Pick<SettingsStore, 'mark' | 'keepMark' | 'replaceMark'>;

const keepSql = 'INSERT INTO marks (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING';
const replaceSql = 'INSERT INTO marks (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value';

export function marksOn(connection: Connection): Marks {
  const mark = (name: string): string | null => {
    const row = connection.statement('SELECT value FROM marks WHERE name = ?').get(name);
    return row === undefined ? null : text(row, 'value');
  };
  return {
    mark: async (name) => mark(name),
    async keepMark(name, value) {
      connection.statement(keepSql).run(name, value);
      return mark(name) ?? value;
    },
    async replaceMark(name, value) {
      connection.statement(replaceSql).run(name, value);
    },
  };
}
