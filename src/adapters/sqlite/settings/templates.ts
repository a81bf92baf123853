// Templates in settings.db: unique names within a tenant, changed only by who has seen the latest version.

import type { TemplateId, TenantId } from '../../../domain/ids.ts';
import type { Template } from '../../../domain/tenant.ts';
import { versionOf } from '../../../domain/tenant.ts';
import type { SettingsStore, TemplatePage, TemplatePlace } from '../../../ports/settings-store.ts';
import type { Connection } from '../connection.ts';
import { number, templateOf } from './rows.ts';
import type { WriteTenant } from './store.ts';
import { earlierVersions, insertVersion, keepVersion } from './template-versions.ts';

type Templates = Pick<
  SettingsStore,
  | 'templates'
  | 'templatePage'
  | 'template'
  | 'templateByName'
  | 'templateHistory'
  | 'createTemplate'
  | 'updateTemplate'
  | 'deleteTemplate'
>;

export function templatesOn(connection: Connection, write: WriteTenant): Templates {
  const byId = (tenantId: TenantId, id: TemplateId): Template | null => {
    const row = connection.statement(`${selected} WHERE id = ? AND tenant_id = ?`).get(id, tenantId);
    return row === undefined ? null : templateOf(row);
  };
  const byName = (tenantId: TenantId, name: string): Template | null => {
    const row = connection.statement(`${selected} WHERE tenant_id = ? AND name = ?`).get(tenantId, name);
    return row === undefined ? null : templateOf(row);
  };
  const countOf = (tenantId: TenantId): number => {
    const sql = 'SELECT count(*) AS templates FROM templates WHERE tenant_id = ?';
    return number(connection.statement(sql).get(tenantId) ?? {}, 'templates');
  };
  return {
    async templates(tenantId) {
      const sql = `${selected} WHERE tenant_id = ? ORDER BY created_at DESC, id DESC`;
      return connection.statement(sql).all(tenantId).map(templateOf);
    },
    templatePage: async (tenantId, place) => pageOf(connection, tenantId, place),
    template: async (tenantId, id) => byId(tenantId, id),
    templateByName: async (tenantId, name) => byName(tenantId, name),
    async templateHistory(tenantId, id) {
      const template = byId(tenantId, id);
      return template === null ? null : { template, earlier: earlierVersions(connection, id) };
    },
    async createTemplate(template, max, earlier = []) {
      const { tenantId, id, name } = template;
      let outcome: Awaited<ReturnType<SettingsStore['createTemplate']>> = 'created';
      await write(tenantId, () => {
        outcome = 'created';
        if (byName(tenantId, name) !== null) outcome = 'taken';
        else if (countOf(tenantId) >= max) outcome = 'full';
        else {
          insert(connection, template);
          for (const version of earlier) insertVersion(connection, id, version);
        }
        return outcome === 'created';
      });
      return outcome;
    },
    async updateTemplate(template) {
      const { tenantId, id, name } = template;
      let outcome: Awaited<ReturnType<SettingsStore['updateTemplate']>> = 'updated';
      await write(tenantId, () => {
        outcome = 'updated';
        const stored = byId(tenantId, id);
        if (stored === null) outcome = 'gone';
        else if (stored.version !== template.version - 1) outcome = 'stale';
        else if ((byName(tenantId, name)?.id ?? id) !== id) outcome = 'taken';
        else {
          keepVersion(connection, id, versionOf(stored));
          update(connection, template);
        }
        return outcome === 'updated';
      });
      return outcome;
    },
    deleteTemplate: async (tenantId, id) =>
      write(tenantId, () => {
        const sql = 'DELETE FROM templates WHERE id = ? AND tenant_id = ?';
        return connection.statement(sql).run(id, tenantId).changes === 1;
      }),
  };
}

function pageOf(
  connection: Connection,
  tenantId: TenantId,
  { limit, bytesMax, after = atTheBegin }: TemplatePlace,
): TemplatePage {
  const sql = `${selected} WHERE tenant_id = ? AND (created_at, id) < (?, ?)
    ORDER BY created_at DESC, id DESC LIMIT ?`;
  const templates: Template[] = [];
  let bytes = 0;
  for (const row of connection.statement(sql).iterate(tenantId, after.createdAt, after.id, limit + 1)) {
    const template = templateOf(row);
    bytes += Buffer.byteLength(template.body) + Buffer.byteLength(template.subject ?? '');
    if (templates.length === limit || (templates.length > 0 && bytes > bytesMax)) return { templates, isCut: true };
    templates.push(template);
  }
  return { templates, isCut: false };
}

const selected =
  'SELECT templates.*, EXISTS (SELECT 1 FROM strict_templates WHERE template_id = templates.id) AS strict FROM templates';

const atTheBegin = { createdAt: Number.MAX_SAFE_INTEGER, id: '' as Template['id'] };

function insert(connection: Connection, template: Template): void {
  const sql = `INSERT INTO templates (id, tenant_id, name, channel, subject, body, version, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const { id, tenantId, name, channel, subject, body, version, createdAt, updatedAt } = template;
  connection.statement(sql).run(id, tenantId, name, channel, subject, body, version, createdAt, updatedAt);
  noteStrict(connection, template);
}

function update(connection: Connection, template: Template): void {
  const sql =
    'UPDATE templates SET name = ?, channel = ?, subject = ?, body = ?, version = ?, updated_at = ? WHERE id = ?';
  const { id, name, channel, subject, body, version, updatedAt } = template;
  connection.statement(sql).run(name, channel, subject, body, version, updatedAt, id);
  noteStrict(connection, template);
}

function noteStrict(connection: Connection, { id, strict }: Template): void {
  const sql = strict
    ? 'INSERT INTO strict_templates (template_id) VALUES (?) ON CONFLICT DO NOTHING'
    : 'DELETE FROM strict_templates WHERE template_id = ?';
  connection.statement(sql).run(id);
}
