// Templates in MongoDB: unique names within a tenant, changed only by who has seen the latest version.

import type { ClientSession } from 'mongodb';

import type { TenantId } from '../../../domain/ids.ts';
import { utf8Bytes } from '../../../domain/template.ts';
import type { Template, TemplateVersion } from '../../../domain/tenant.ts';
import { keptVersions, versionOf } from '../../../domain/tenant.ts';
import type { SettingsStore } from '../../../ports/settings-store.ts';
import { fittingOf } from '../read-models/wanted.ts';
import type { Collections, TemplateDocument } from './collections.ts';
import type { WriteTenant } from './writing.ts';

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

export function templatesIn({ templates }: Collections, write: WriteTenant): Templates {
  const idOfName = async (tenantId: TenantId, name: string, session: ClientSession) =>
    (await templates().findOne({ tenantId, name }, { session, projection: { _id: 1 } }))?._id ?? null;

  return {
    async templates(tenantId) {
      const found = await templates().find({ tenantId }, current).sort({ createdAt: -1, _id: -1 }).toArray();
      return found.map(templateOf);
    },
    async templatePage(tenantId, { limit, bytesMax, after }) {
      const behind = after === undefined ? {} : { $or: [{ createdAt: { $lt: after.createdAt } }, tieOf(after)] };
      const found = (count: number) =>
        templates()
          .find({ tenantId, ...behind })
          .sort({ createdAt: -1, _id: -1 })
          .limit(count);
      const sizes = await found(limit + 1)
        .project<{ bytes: number }>({ _id: 0, bytes: sizeOf })
        .toArray();
      if (sizes.length === 0) return { templates: [], isCut: false };
      const fitting = fittingOf(
        sizes.slice(0, limit).map(({ bytes }) => bytes),
        bytesMax,
      );
      const page = await found(fitting).project<TemplateDocument>(current.projection).toArray();
      return { templates: page.map(templateOf), isCut: fitting < sizes.length && page.length === fitting };
    },
    async template(tenantId, id) {
      const found = await templates().findOne({ _id: id, tenantId }, current);
      return found === null ? null : templateOf(found);
    },
    async templateByName(tenantId, name) {
      const found = await templates().findOne({ tenantId, name }, current);
      return found === null ? null : templateOf(found);
    },
    async templateHistory(tenantId, id) {
      const found = await templates().findOne({ _id: id, tenantId });
      return found === null ? null : { template: templateOf(found), earlier: found.earlier ?? [] };
    },
    async createTemplate(template, max, earlier = []) {
      const { tenantId, name } = template;
      let outcome: Awaited<ReturnType<SettingsStore['createTemplate']>> = 'created';
      await write(tenantId, async (session) => {
        outcome = 'created';
        if ((await idOfName(tenantId, name, session)) !== null) outcome = 'taken';
        else if ((await templates().countDocuments({ tenantId }, { session })) >= max) outcome = 'full';
        if (outcome !== 'created') return false;
        await templates().insertOne({ ...documentOf(template), earlier }, { session });
        return true;
      });
      return outcome;
    },
    async updateTemplate(template) {
      const { id: _id, tenantId, name, channel, subject, body, strict, version, updatedAt } = template;
      let outcome: Awaited<ReturnType<SettingsStore['updateTemplate']>> = 'updated';
      await write(tenantId, async (session) => {
        const known = await templates().findOne({ _id, tenantId }, { session });
        outcome = 'updated';
        if (known === null) outcome = 'gone';
        else if (known.version !== version - 1) outcome = 'stale';
        else if (((await idOfName(tenantId, name, session)) ?? _id) !== _id) outcome = 'taken';
        if (known === null || outcome !== 'updated') return false;
        const earlier = withEarlier(known);
        const changed = { name, channel, subject, body, strict, version, updatedAt, earlier };
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

const sizeOf = { $add: [{ $strLenBytes: '$body' }, { $strLenBytes: { $ifNull: ['$subject', ''] } }] };

function tieOf({ createdAt, id }: Pick<Template, 'createdAt' | 'id'>) {
  return { createdAt, _id: { $lt: id } };
}

/** What it was before is read where it is asked for alone. */
const current = { projection: { earlier: 0 } } as const;

/** What is kept once this one has become an earlier version. */
function withEarlier(known: TemplateDocument): TemplateVersion[] {
  const earlier = [versionOf(templateOf(known)), ...(known.earlier ?? [])];
  return earlier.slice(0, keptVersions(earlier.map(({ subject, body }) => utf8Bytes(body) + utf8Bytes(subject ?? ''))));
}

function templateOf({ _id, strict = false, earlier: _earlier, ...template }: TemplateDocument): Template {
  return { id: _id, ...template, strict };
}

function documentOf({ id, ...template }: Template): TemplateDocument {
  return { _id: id, ...template };
}
