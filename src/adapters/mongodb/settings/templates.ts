// Templates in MongoDB: unique names within a tenant, changed only by who has seen the latest version.

import type { ClientSession } from 'mongodb';

import type { TenantId } from '../../../domain/ids.ts';
import type { Template } from '../../../domain/tenant.ts';
import type { SettingsStore } from '../../../ports/settings-store.ts';
import type { Collections, TemplateDocument } from './collections.ts';
import type { WriteTenant } from './writing.ts';

type Templates = Pick<
  SettingsStore,
  'templates' | 'template' | 'templateByName' | 'createTemplate' | 'updateTemplate' | 'deleteTemplate'
>;

export function templatesIn({ templates }: Collections, write: WriteTenant): Templates {
  const idOfName = async (tenantId: TenantId, name: string, session: ClientSession) =>
    (await templates().findOne({ tenantId, name }, { session, projection: { _id: 1 } }))?._id ?? null;

  return {
    async templates(tenantId) {
      const found = await templates().find({ tenantId }).sort({ createdAt: -1, _id: -1 }).toArray();
      return found.map(templateOf);
    },
    async template(tenantId, id) {
      const found = await templates().findOne({ _id: id, tenantId });
      return found === null ? null : templateOf(found);
    },
    async templateByName(tenantId, name) {
      const found = await templates().findOne({ tenantId, name });
      return found === null ? null : templateOf(found);
    },
    async createTemplate(template) {
      const { tenantId, name } = template;
      const isCreated = await write(tenantId, async (session) => {
        if ((await idOfName(tenantId, name, session)) !== null) return false;
        await templates().insertOne(documentOf(template), { session });
        return true;
      });
      return isCreated ? 'created' : 'taken';
    },
    async updateTemplate(template) {
      const { id: _id, tenantId, name, channel, subject, body, version, updatedAt } = template;
      let outcome: Awaited<ReturnType<SettingsStore['updateTemplate']>> = 'updated';
      await write(tenantId, async (session) => {
        const known = await templates().findOne({ _id, tenantId }, { session, projection: { version: 1 } });
        outcome = 'updated';
        if (known === null) outcome = 'gone';
        else if (known.version !== version - 1) outcome = 'stale';
        else if (((await idOfName(tenantId, name, session)) ?? _id) !== _id) outcome = 'taken';
        if (outcome !== 'updated') return false;
        const changed = { name, channel, subject, body, version, updatedAt };
        await templates().updateOne({ _id }, { $set: changed }, { session });
        return true;
      });
      return outcome;
    },
    deleteTemplate: (tenantId, id) =>
      write(tenantId, async (session) => {
        const { deletedCount } = await templates().deleteOne({ _id: id, tenantId }, { session });
        return deletedCount === 1;
      }),
  };
}

function templateOf({ _id, ...template }: TemplateDocument): Template {
  return { id: _id, ...template };
}

function documentOf({ id, ...template }: Template): TemplateDocument {
  return { _id: id, ...template };
}
