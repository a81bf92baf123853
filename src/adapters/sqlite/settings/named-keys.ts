// Further API keys in settings.db, and the replacing of sealed texts.

import type { SettingsStore } from '../../../ports/settings-store.ts';
import type { Connection } from '../connection.ts';
import { number } from './rows.ts';
import type { WriteTenant } from './store.ts';

type NamedKeys = Pick<SettingsStore, 'createNamedKey' | 'deleteNamedKey' | 'noteKeyUses'>;

export function namedKeysOn(connection: Connection, write: WriteTenant): NamedKeys {
  return {
    createNamedKey: async (key, max) =>
      (await write(key.tenantId, () => {
        const sql = 'SELECT count(*) AS keys FROM named_keys WHERE tenant_id = ?';
        if (number(connection.statement(sql).get(key.tenantId) ?? {}, 'keys') >= max) return false;
        connection
          .statement(insertSql)
          .run(
            key.id,
            key.tenantId,
            key.name,
            key.scopes.join(','),
            key.prefix,
            key.hash,
            key.sealedKey,
            key.createdAt,
            key.lastUsedAt,
          );
        return true;
      }))
        ? 'created'
        : 'full',
    deleteNamedKey: async (tenantId, id) =>
      write(tenantId, () => {
        const sql = 'DELETE FROM named_keys WHERE id = ? AND tenant_id = ?';
        return connection.statement(sql).run(id, tenantId).changes === 1;
      }),
    async noteKeyUses(uses) {
      const sql = `UPDATE named_keys SET last_used_at = ? WHERE id = ? AND tenant_id = ? AND coalesce(last_used_at, 0) < ?`;
      connection.transaction(() => {
        for (const { id, tenantId, at } of uses) connection.statement(sql).run(at, id, tenantId, at);
      });
    },
  };
}

/** Where a tenant's sealed texts are, each with the column that names the tenant. */
const sealedColumns = [
  ['tenants', 'id', 'sealed_webhook_secret'],
  ['api_keys', 'tenant_id', 'sealed_key'],
  ['named_keys', 'tenant_id', 'sealed_key'],
  ['providers', 'tenant_id', 'sealed_api_key'],
  ['providers', 'tenant_id', 'sealed_previous_api_key'],
  ['fallback_providers', 'tenant_id', 'sealed_api_key'],
  ['fallback_providers', 'tenant_id', 'sealed_previous_api_key'],
  ['callback_secrets', 'tenant_id', 'sealed_secret'],
  ['earlier_keys', 'tenant_id', 'sealed_key'],
] as const;

export function replaceSealedOn(connection: Connection, write: WriteTenant): SettingsStore['replaceSealed'] {
  return async (tenantId, newByOld) => {
    let replaced = 0;
    await write(tenantId, () => {
      replaced = 0;
      for (const [old, renewed] of newByOld) {
        for (const [table, tenant, column] of sealedColumns) {
          const sql = `UPDATE ${table} SET ${column} = ? WHERE ${tenant} = ? AND ${column} = ?`;
          replaced += Number(connection.statement(sql).run(renewed, tenantId, old).changes);
        }
      }
      return replaced > 0;
    });
    return replaced;
  };
}

const insertSql = `
  INSERT INTO named_keys (id, tenant_id, name, scopes, prefix, hash, sealed_key, created_at, last_used_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
