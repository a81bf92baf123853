// Tenants, their API keys and their providers in settings.db.

import type { ProviderRole } from '../../../domain/events.ts';
import type { TenantId } from '../../../domain/ids.ts';
import { deletedProvider } from '../../../domain/tenant.ts';
import type { SettingsStore, StoredApiKey, StoredTenant } from '../../../ports/settings-store.ts';
import type { Connection } from '../connection.ts';
import { isErased, unlessErasedSql } from './erasing.ts';
import { number, tenantOf, text } from './rows.ts';
import type { WriteTenant } from './store.ts';

type Tenants = Pick<
  SettingsStore,
  'createTenant' | 'tenantBySubject' | 'tenantIdByKeyHash' | 'setShare' | 'setRetention' | 'retentions' | 'replaceKey'
>;
type Providers = Pick<SettingsStore, 'saveProvider' | 'deleteProvider' | 'forgetPreviousKeys'>;

export function tenantsOn(connection: Connection, write: WriteTenant): Tenants {
  return {
    createTenant: async (tenant, key) =>
      write(tenant.id, () => {
        const created = insertTenant(connection, tenant);
        if (created) insertKey(connection, key);
        return created;
      }),
    async tenantBySubject(subject) {
      const row = connection.statement('SELECT * FROM tenants WHERE subject = ?').get(subject);
      return row === undefined || isErased(row) ? null : tenantOf(row);
    },
    async tenantIdByKeyHash(hash) {
      const row = connection.statement(tenantByHashSql).get(hash, hash);
      return row === undefined ? null : (text(row, 'tenant_id') as TenantId);
    },
    setShare: async (tenantId, { weight, inFlightMax }) =>
      write(tenantId, () => {
        if (connection.statement(isThereSql).get(tenantId) === undefined) return false;
        connection.statement(saveShareSql).run(tenantId, weight, inFlightMax);
        return true;
      }),
    setRetention: async (tenantId, keptMs) =>
      write(tenantId, () => {
        if (connection.statement(isThereSql).get(tenantId) === undefined) return false;
        if (keptMs === null) connection.statement('DELETE FROM tenant_retentions WHERE tenant_id = ?').run(tenantId);
        else connection.statement(saveRetentionSql).run(tenantId, keptMs);
        return true;
      }),
    async retentions() {
      const rows = connection.statement('SELECT * FROM tenant_retentions').all();
      return new Map(rows.map((row) => [text(row, 'tenant_id') as TenantId, number(row, 'kept_ms')]));
    },
    replaceKey: async (key, oldExpiresAt, formerMax) =>
      (await write(key.tenantId, () => {
        if (oldExpiresAt === null) connection.statement(removeKeysSql).run(key.tenantId);
        else if (!expireKeys(connection, key, oldExpiresAt, formerMax)) return false;
        insertKey(connection, key);
        return true;
      }))
        ? 'replaced'
        : 'full',
  };
}

export function providersOn(connection: Connection, write: WriteTenant): Providers {
  return {
    async saveProvider(provider) {
      const { tenantId, channel, role, sealedApiKey, sealedPreviousApiKey, previousUntil, earlierKeys = [] } = provider;
      await write(tenantId, () => {
        connection
          .statement(saveProviderSql(providerTables[role]))
          .run(
            tenantId,
            channel,
            provider.provider,
            sealedApiKey,
            sealedPreviousApiKey,
            previousUntil,
            JSON.stringify(provider.config),
            provider.enabled ? 1 : 0,
            provider.createdAt,
            provider.updatedAt,
          );
        connection.statement(forgetEarlierKeysSql).run(tenantId, channel, role);
        for (const { sealedKey, until } of earlierKeys)
          connection.statement(saveEarlierKeySql).run(tenantId, channel, role, sealedKey, until);
        connection.statement(forgetCallbackSecretSql).run(tenantId, channel, role);
        const { sealedCallbackSecret: secret } = provider;
        if (secret !== undefined) connection.statement(saveCallbackSecretSql).run(tenantId, channel, role, secret);
        return true;
      });
    },
    deleteProvider: async (tenantId, channel, role) =>
      write(tenantId, () => {
        connection.statement(forgetEarlierKeysSql).run(tenantId, channel, role);
        connection.statement(forgetCallbackSecretSql).run(tenantId, channel, role);
        const sql = `DELETE FROM ${providerTables[role]} WHERE tenant_id = ? AND channel = ?`;
        return connection.statement(sql).run(tenantId, channel).changes === 1;
      }),
    async forgetPreviousKeys(now) {
      connection.transaction(() => {
        connection.statement(forgetDeletedSql).run(now, deletedProvider);
        connection.statement(forgetPreviousKeysSql).run(now);
        connection.statement('DELETE FROM earlier_keys WHERE until <= ?').run(now);
      });
    },
  };
}

const isThereSql = `SELECT 1 FROM tenants WHERE id = ? AND ${unlessErasedSql}`;

const tenantByHashSql = `
  SELECT tenant_id FROM api_keys WHERE hash = ? UNION ALL SELECT tenant_id FROM named_keys WHERE hash = ?`;

// Of the other keys those that would hold still when this one comes.
const holdingKeysSql = `
  SELECT count(*) AS keys FROM api_keys WHERE min(coalesce(expires_at, ?1), ?1) > ?3 AND tenant_id = ?2`;

// Keys that had ended before this one: an unknown key and an ended one are refused alike, and a tenant's keys stay few.
const forgetKeysSql = 'DELETE FROM api_keys WHERE tenant_id = ? AND expires_at < ?';

// WEBHOOK alone has previous keys, and no fallback.
const forgetDeletedSql = 'DELETE FROM providers WHERE previous_until <= ? AND provider = ?';
const forgetPreviousKeysSql = `
  UPDATE providers SET sealed_previous_api_key = NULL, previous_until = NULL WHERE previous_until <= ?`;

const removeKeysSql = 'DELETE FROM api_keys WHERE tenant_id = ?';

const expireKeysSql = `
  UPDATE api_keys SET expires_at = ? WHERE tenant_id = ? AND (expires_at IS NULL OR expires_at > ?)`;

const saveShareSql = `
  INSERT INTO tenant_shares (tenant_id, weight, in_flight_max) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET weight = excluded.weight, in_flight_max = excluded.in_flight_max`;

const saveRetentionSql = `
  INSERT INTO tenant_retentions (tenant_id, kept_ms) VALUES (?, ?) ON CONFLICT DO UPDATE SET kept_ms = excluded.kept_ms`;

const providerTables: Readonly<Record<ProviderRole, string>> = {
  primary: 'providers',
  fallback: 'fallback_providers',
};

const forgetCallbackSecretSql = 'DELETE FROM callback_secrets WHERE tenant_id = ? AND channel = ? AND role = ?';
const saveCallbackSecretSql =
  'INSERT INTO callback_secrets (tenant_id, channel, role, sealed_secret) VALUES (?, ?, ?, ?)';

const forgetEarlierKeysSql = 'DELETE FROM earlier_keys WHERE tenant_id = ? AND channel = ? AND role = ?';
const saveEarlierKeySql =
  'INSERT INTO earlier_keys (tenant_id, channel, role, sealed_key, until) VALUES (?, ?, ?, ?, ?)';

// Earlier keys come as they were saved, the newest first.
export const providersSql = (role: ProviderRole) => `
  SELECT p.*, s.sealed_secret AS sealed_callback_secret, (
    SELECT json_group_array(json_object('sealedKey', e.sealed_key, 'until', e.until) ORDER BY e.rowid) FROM earlier_keys e
    WHERE e.tenant_id = p.tenant_id AND e.channel = p.channel AND e.role = '${role}') AS earlier_keys FROM ${providerTables[role]} p
  LEFT JOIN callback_secrets s ON s.tenant_id = p.tenant_id AND s.channel = p.channel AND s.role = '${role}'
  WHERE p.tenant_id = ?`;

const saveProviderSql = (table: string) => `
  INSERT INTO ${table} (tenant_id, channel, provider, sealed_api_key, sealed_previous_api_key, previous_until, config, enabled,
    created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET provider = excluded.provider, sealed_api_key = excluded.sealed_api_key,
    sealed_previous_api_key = excluded.sealed_previous_api_key, previous_until = excluded.previous_until,
    config = excluded.config, enabled = excluded.enabled, created_at = excluded.created_at, updated_at = excluded.updated_at`;

/** False when the subject has a tenant; any other conflict is an Error. */
function insertTenant(connection: Connection, tenant: StoredTenant): boolean {
  const sql = `INSERT INTO tenants (id, subject, name, email, created_at, rate_limit, rate_window_ms, sealed_webhook_secret, revision)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (subject) DO NOTHING`;
  const { id, subject, name, email, createdAt, rateLimit, sealedWebhookSecret } = tenant;
  const limit = rateLimit?.limit ?? null;
  const windowMs = rateLimit?.windowMs ?? null;
  const { changes } = connection
    .statement(sql)
    .run(id, subject, name, email, createdAt, limit, windowMs, sealedWebhookSecret);
  return changes === 1;
}

/** False, nothing written: more than `formerMax` would hold still. */
function expireKeys(connection: Connection, { tenantId, createdAt }: StoredApiKey, at: number, formerMax: number) {
  const holding = connection.statement(holdingKeysSql).get(at, tenantId, createdAt) ?? {};
  if (number(holding, 'keys') > formerMax) return false;
  connection.statement(forgetKeysSql).run(tenantId, createdAt);
  connection.statement(expireKeysSql).run(at, tenantId, at);
  return true;
}

function insertKey(connection: Connection, key: StoredApiKey): void {
  const sql = 'INSERT INTO api_keys (hash, tenant_id, sealed_key, created_at, expires_at) VALUES (?, ?, ?, ?, ?)';
  connection.statement(sql).run(key.hash, key.tenantId, key.sealedKey, key.createdAt, key.expiresAt);
}
