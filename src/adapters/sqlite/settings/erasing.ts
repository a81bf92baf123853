// A tenant that is erased in settings.db: its rows go, but for one that says its id and the revision from which on others forget it.

import type { SettingsStore } from '../../../ports/settings-store.ts';
import type { Connection } from '../connection.ts';
import type { Row } from './rows.ts';
import type { WriteTenant } from './store.ts';

const tables = [
  'tenant_shares',
  'tenant_retentions',
  'api_keys',
  'named_keys',
  'providers',
  'fallback_providers',
  'callback_secrets',
  'earlier_keys',
  'breakers',
  'templates',
];

/** Of tenants that there are: each has a sealed secret. */
export const unlessErasedSql = "sealed_webhook_secret <> ''";

const blankSql = `UPDATE tenants SET subject = 'erased:' || id, name = '', email = NULL, created_at = 0, rate_limit = NULL,
  rate_window_ms = NULL, sealed_webhook_secret = '' WHERE id = ? AND ${unlessErasedSql}`;

export function isErased(row: Row): boolean {
  return row['sealed_webhook_secret'] === '';
}

export function erasingOn(connection: Connection, erase: WriteTenant): Pick<SettingsStore, 'eraseTenant'> {
  return {
    eraseTenant: async (tenantId) =>
      erase(tenantId, () => {
        const deletions = tables.map((table) => `DELETE FROM ${table} WHERE tenant_id = ?`);
        const changed = [...deletions, blankSql].map((sql) => Number(connection.statement(sql).run(tenantId).changes));
        return changed.some((rows) => rows > 0);
      }),
  };
}
