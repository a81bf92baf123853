// Which providers aren't called for a while, in settings.db.

import type { Channel, ProviderRole } from '../../../domain/events.ts';
import type { SettingsStore } from '../../../ports/settings-store.ts';
import type { Connection } from '../connection.ts';
import { number, text } from './rows.ts';

type Breakers = Pick<SettingsStore, 'noteBreakers' | 'breakers'>;

const closeSql = 'DELETE FROM breakers WHERE tenant_id = ? AND channel = ? AND role = ?';
const openSql = `
  INSERT INTO breakers (tenant_id, channel, role, until) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET until = excluded.until`;

export function breakersOn(connection: Connection): Breakers {
  return {
    async noteBreakers(notes) {
      connection.transaction(() => {
        for (const { tenantId, channel, role, until } of notes) {
          if (until === null) connection.statement(closeSql).run(tenantId, channel, role);
          else connection.statement(openSql).run(tenantId, channel, role, until);
        }
      });
    },
    async breakers(tenantId) {
      const rows = connection.statement('SELECT * FROM breakers WHERE tenant_id = ?').all(tenantId);
      return rows.map((row) => ({
        tenantId,
        channel: text(row, 'channel') as Channel,
        role: text(row, 'role') as ProviderRole,
        until: number(row, 'until'),
      }));
    },
  };
}
