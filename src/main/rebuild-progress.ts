// How far rebuilds are that services fill beside what is in use, shown until all of them are over, and then what differed.

import type { CatchingUp } from '../projections/catching-up.ts';
import type { FilledPlace, FillingPlace } from '../projections/filling.ts';
import { createFilledPlace, fillingStillMs } from '../projections/filling.ts';
import { projectedReadModels } from '../projections/index.ts';
import type { ReadModel } from '../projections/read-model.ts';
import { isFormerInUse } from '../projections/replacement.ts';
import type { BesideComparison } from '../ports/read-model-rebuild.ts';
import type { EngineDependencies, RebuildBeside } from './engines.ts';
import { createProgress } from './progress.ts';
import { StartError } from './start-error.ts';

export interface Watched {
  readonly log: FillingPlace['log'];
  readonly store: Pick<
    RebuildBeside['store'],
    'nextVersion' | 'resumeRebuild' | 'lastComparison' | 'hasCaughtUp' | 'positions'
  >;
}

export interface WatchDependencies extends Pick<EngineDependencies, 'clock'> {
  /** Whether a process folds the read models now. */
  areFolded(): Promise<boolean>;
}

const lookEveryMs = 500;

/** Resolves once none is under way any more. @throws StartError once nobody is there who would fold; Error when log or store are away */
export async function untilRebuilt(
  { clock, areFolded }: WatchDependencies,
  beside: Watched,
  out: NodeJS.WriteStream = process.stderr,
): Promise<void> {
  const progress = createProgress('rebuild', out);
  const placeOf = createPlaces(beside);
  /** Of each that was seen: when it had been compared before, and how far it is. What is over counts as done: the bar doesn't go back. */
  const seen = new Map<string, { readonly comparedAt: number | null; progress: CatchingUp }>();
  let last = { done: -1, at: clock.monotonic() };
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
    const [done, total] = [sumOf(all.map((of) => of.done)), sumOf(all.map((of) => of.total))];
    progress.update(done, total);
    const now = clock.monotonic();
    if (done !== last.done) last = { done, at: now };
    else if (now - last.at >= fillingStillMs) {
      last = { done, at: now };
      if (!(await areFolded())) throw new StartError(nobodyFolds);
      // What is filled to its end is compared then.
      if (done < total) createProgress('rebuild', out).end(standsStill);
    }
    await clock.sleep(lookEveryMs);
  }
  progress.end(seen.size === 0 ? 'none is under way' : `${[...seen.keys()].join(', ')} done`);
  for (const [name, { comparedAt }] of seen) {
    const comparison = await beside.store.lastComparison(name);
    if (comparison !== null && comparison.at !== comparedAt) createProgress(name, out).end(toldOfBeside(comparison));
  }
}

const nobodyFolds =
  'Nobody folds the read models: what is begun goes on once a service with the role projector runs; "herald rebuild" while none does folds them by itself.';
const standsStill = `nothing was folded for ${fillingStillMs / 1000} s; the lines of the processes with the role projector say why`;

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
