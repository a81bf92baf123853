// How far rebuilds are that services fill beside what is in use, shown until all of them are over, and then what differed.

import type { CatchingUp } from '../projections/catching-up.ts';
import type { FilledPlace, FillingPlace } from '../projections/filling.ts';
import { createFilledPlace } from '../projections/filling.ts';
import { projectedReadModels } from '../projections/index.ts';
import type { ReadModel } from '../projections/read-model.ts';
import { isFormerInUse } from '../projections/replacement.ts';
import type { BesideComparison } from '../ports/read-model-rebuild.ts';
import type { EngineDependencies, RebuildBeside } from './engines.ts';
import { createProgress } from './progress.ts';

export interface Watched {
  readonly log: FillingPlace['log'];
  readonly store: Pick<
    RebuildBeside['store'],
    'nextVersion' | 'resumeRebuild' | 'lastComparison' | 'hasCaughtUp' | 'positions'
  >;
}

const lookEveryMs = 500;

/** Resolves once none is under way any more. @throws Error when log or store are away */
export async function untilRebuilt(
  { clock }: Pick<EngineDependencies, 'clock'>,
  beside: Watched,
  out: NodeJS.WriteStream = process.stderr,
): Promise<void> {
  const progress = createProgress('rebuild', out);
  const placeOf = createPlaces(beside);
  /** Of each that was seen: when it had been compared before, and how far it is. What is over counts as done: the bar doesn't go back. */
  const seen = new Map<string, { readonly comparedAt: number | null; progress: CatchingUp }>();
  for (;;) {
    let isAnyLeft = false;
    for (const readModel of projectedReadModels) {
      const { name } = readModel.definition;
      const known = seen.get(name);
      const place = await placeOf(readModel);
      if (place === null) {
        if (known !== undefined) known.progress = { ...known.progress, done: known.progress.total };
        continue;
      }
      isAnyLeft = true;
      const reached = await place.reached(await place.ends());
      if (known !== undefined) known.progress = reached;
      else seen.set(name, { comparedAt: await comparedAtOf(beside, name), progress: reached });
    }
    if (!isAnyLeft) break;
    const all = [...seen.values()].map((of) => of.progress);
    progress.update(sumOf(all.map(({ done }) => done)), sumOf(all.map(({ total }) => total)));
    await clock.sleep(lookEveryMs);
  }
  progress.end(seen.size === 0 ? 'none is under way' : `${[...seen.keys()].join(', ')} done`);
  for (const [name, { comparedAt }] of seen) {
    const comparison = await beside.store.lastComparison(name);
    if (comparison !== null && comparison.at !== comparedAt) createProgress(name, out).end(toldOfBeside(comparison));
  }
}

async function comparedAtOf({ store }: Watched, readModel: string): Promise<number | null> {
  return (await store.lastComparison(readModel))?.at ?? null;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

/** Of the next version of a read model, or of the one that is filled beside the one it replaces; null: neither is there. */
function createPlaces({ log, store }: Watched): (readModel: ReadModel) => Promise<FilledPlace | null> {
  const places = new Map<string, FilledPlace>();
  const ofNext = async (readModel: ReadModel, version: number): Promise<FilledPlace> => {
    const key = `${readModel.definition.name} ${version}`;
    const known = places.get(key);
    if (known !== undefined) return known;
    const place = createFilledPlace({ log, store: await store.resumeRebuild(readModel.definition), readModel });
    places.set(key, place);
    return place;
  };
  return async (readModel) => {
    const version = await store.nextVersion(readModel.definition);
    if (version !== null) return ofNext(readModel, version);
    const former = readModel.replaces?.readModel;
    if (former === undefined || !(await isFormerInUse(store, readModel, former))) return null;
    return createFilledPlace({ log, store, readModel });
  };
}

function toldOfBeside({ compared, differing, fields, examples }: BesideComparison): string {
  if (differing === 0) return `${compared} documents compared, equal to those before`;
  const counts = fields.map(([field, documents]) => `${field} ${documents}`).join(', ');
  return `${compared} documents compared, ${differing} NOT equal to those before (${counts}), e.g. ${examples.join(' | ')}`;
}
