// Which providers aren't called for a while, in MongoDB: documents of their own, written without a transaction, since nothing else tells of them.

import type { SettingsStore } from '../../../ports/settings-store.ts';
import type { Collections } from './collections.ts';

type Breakers = Pick<SettingsStore, 'noteBreakers' | 'breakers'>;

export function breakersIn({ breakers }: Collections): Breakers {
  return {
    async noteBreakers(notes) {
      if (notes.length === 0) return;
      await breakers().bulkWrite(
        notes.map(({ tenantId, channel, role, until }) => {
          const filter = { _id: `${tenantId}:${channel}:${role}` };
          if (until === null) return { deleteOne: { filter } };
          return { updateOne: { filter, update: { $set: { tenantId, channel, role, until } }, upsert: true } };
        }),
      );
    },
    async breakers(tenantId) {
      const found = await breakers().find({ tenantId }).toArray();
      return found.map(({ channel, role, until }) => ({ tenantId, channel, role, until }));
    },
  };
}
