// Makes read models that aren't there yet, so that a long log is folded into them as quickly as can be.

import type { EventLog } from '../ports/event-log.ts';
import type { IndexesMade, ReadModelStore } from '../ports/read-model-store.ts';
import { formerReadModels, readModels } from './index.ts';
import { timersReadModel } from './timers/index.ts';

export interface PreparingDependencies {
  readonly log: Pick<EventLog, 'ends'>;
  readonly store: Pick<ReadModelStore, 'prepare' | 'hasCaughtUp'>;
}

/** Folded in a second: queries are answered from the start on, where the log is empty above all. */
const fewEvents = 10_000;

/**
 * All of them. Where the log is long and nobody is answered from the store yet, they get their indexes once they are filled: where somebody is, or something
 * is due, nobody waits for an index that is made at once. Timers are looked for while they are folded.
 */
export async function prepareReadModels({ log, store }: PreparingDependencies): Promise<void> {
  const indexes = await indexesOf({ log, store });
  for (const readModel of readModels)
    await store.prepare(readModel.definition, readModel === timersReadModel ? 'at once' : indexes);
}

async function indexesOf({ log, store }: PreparingDependencies): Promise<IndexesMade> {
  for (const { definition } of [...readModels, ...formerReadModels])
    if (await store.hasCaughtUp(definition.name)) return 'at once';
  let events = 0;
  for (const topic of new Set(readModels.flatMap(({ topics }) => topics)))
    for (const end of await log.ends(topic)) events += end;
  return events <= fewEvents ? 'at once' : 'once filled';
}
