// What the settings belong to, in MongoDB: their log and their secret.

import type { SettingsStore } from '../../../ports/settings-store.ts';
import type { Collections } from './collections.ts';

type Marks = Pick<SettingsStore, 'mark' | 'keepMark' | 'replaceMark'>;

export function marksIn({ marks }: Collections): Marks {
  return {
    mark: async (name) => (await marks().findOne({ _id: name }))?.value ?? null,
    async keepMark(name, value) {
      const kept = await marks().findOneAndUpdate(
        { _id: name },
        { $setOnInsert: { value } },
        { upsert: true, returnDocument: 'after' },
      );
      return kept?.value ?? value;
    },
    async replaceMark(name, value) {
      await marks().updateOne({ _id: name }, { $set: { value } }, { upsert: true });
    },
  };
}
