// settings.db: tenants, keys, providers and templates; the truth about them, so synchronous FULL.

import { tenantIsGone } from '../../../domain/errors.ts';
import { providerRoles } from '../../../domain/events.ts';
import type { TenantId } from '../../../domain/ids.ts';
import type { SettingsStore } from '../../../ports/settings-store.ts';
import { type Connection, openConnection } from '../connection.ts';
import { createGroupedTransactions } from '../grouped-transactions.ts';
import { breakersOn } from './breakers.ts';
import { erasingOn, isErased, unlessErasedSql } from './erasing.ts';
import { marksOn } from './marks.ts';
import { namedKeysOn, replaceSealedOn } from './named-keys.ts';
import { apiKeyOf, namedKeyOf, number, providerOf, shareOf, tenantOf, text } from './rows.ts';
import { lackingTablesSql, settingsSchemaSql } from './schema.ts';
import { templatesOn } from './templates.ts';
import { providersOn, providersSql, tenantsOn } from './tenants.ts';

/** Tenants that one look reports; a further look goes on after them. */
const changesMax = 1000;

/** Of 50 us and more each. */
const changesPerTurn = 50;

const namedKeysSql = 'SELECT * FROM named_keys WHERE tenant_id = ? ORDER BY created_at, id';

/** @throws Error when the file can't be opened */
export function openSettingsStore(options: { readonly path: string }): SettingsStore {
  const connection = openConnection(options.path, { synchronous: 'FULL', holds: 'store' });
  connection.db.exec(settingsSchemaSql);
  return storeOn(connection);
}

/**
 * The settings of a service that may be running, and be of a version before this one: its file is read alone, and what writes rejects.
 * @throws Error when the file can't be opened
 */
export function openSettingsBeside(options: { readonly path: string }): SettingsStore {
  const connection = openConnection(options.path, { readOnly: true, holds: 'store' });
  const tables = connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table'", []);
  connection.db.exec(lackingTablesSql(new Set(tables.map(([name]) => String(name)))));
  return storeOn(connection);
}

function storeOn(connection: Connection): SettingsStore {
  const { write, erase } = writerOn(connection);
  return {
    ...tenantsOn(connection, write),
    ...namedKeysOn(connection, write),
    ...providersOn(connection, write),
    ...templatesOn(connection, write),
    ...breakersOn(connection),
    ...marksOn(connection),
    ...erasingOn(connection, erase),
    replaceSealed: replaceSealedOn(connection, write),
    async settings(tenantId) {
      const row = connection.statement('SELECT * FROM tenants WHERE id = ?').get(tenantId);
      if (row === undefined || isErased(row)) return null;
      const share = connection.statement('SELECT * FROM tenant_shares WHERE tenant_id = ?').get(tenantId);
      const keys = connection.statement('SELECT * FROM api_keys WHERE tenant_id = ? ORDER BY created_at').all(tenantId);
      const namedKeys = connection.statement(namedKeysSql).all(tenantId);
      const providers = providerRoles.flatMap((role) => {
        const rows = connection.statement(providersSql(role)).all(tenantId);
        return rows.map((found) => providerOf(found, role));
      });
      return {
        tenant: tenantOf(row),
        share: shareOf(share),
        keys: keys.map(apiKeyOf),
        namedKeys: namedKeys.map(namedKeyOf),
        providers,
      };
    },
    async changesSince(revision) {
      if (revision === 0) {
        const row = connection.statement('SELECT revision FROM store').get() ?? {};
        return { revision: number(row, 'revision'), tenantIds: [] };
      }
      const sql = 'SELECT id, revision FROM tenants WHERE revision > ? ORDER BY revision LIMIT ?';
      const rows = connection.statement(sql).all(revision, changesMax);
      const last = rows.at(-1);
      return {
        revision: last === undefined ? revision : number(last, 'revision'),
        tenantIds: rows.map((row) => text(row, 'id') as TenantId),
      };
    },
    ready: async () => connection.db.isOpen,
    async close() {
      connection.close();
    },
  };
}

/**
 * A change of one tenant: in one transaction with the revision that tells of it. `change` answers whether it changed anything, and is called a second time
 * where the first was rolled back for another's failure. Those of one turn of the event loop wait for the disk once: it takes some 5 ms, in which nobody is
 * served, and a tenant may change its templates 200 times a second.
 */
export type WriteTenant = (tenantId: TenantId, change: () => boolean) => Promise<boolean>;

interface Writer {
  /** Of a tenant that there is: who hasn't heard of its erasure yet saves nothing of it. @throws DomainError FORBIDDEN */
  readonly write: WriteTenant;
  /** Of one that is erased by it, or was. */
  readonly erase: WriteTenant;
}

const tellSql = 'UPDATE tenants SET revision = (SELECT revision FROM store) WHERE id = ?';

function writerOn(connection: Connection): Writer {
  const transactions = createGroupedTransactions(connection, changesPerTurn);
  const writing =
    (sql: string): WriteTenant =>
    async (tenantId, change) => {
      let isChanged = false;
      await transactions.run(() => {
        isChanged = change();
        if (!isChanged) return;
        connection.statement('UPDATE store SET revision = revision + 1').run();
        if (connection.statement(sql).run(tenantId).changes === 0) throw tenantIsGone(tenantId);
      });
      return isChanged;
    };
  return { write: writing(`${tellSql} AND ${unlessErasedSql}`), erase: writing(tellSql) };
}
