// herald rebuild: folds the read models anew from the log and swaps them in. Where a service folds them it is asked to, and goes on serving; else it is done
// here, and compared with what was in use.

import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import { createMetrics } from '../adapters/node/metrics.ts';
import { createCodec } from '../codec/index.ts';
import type { FilledPlace } from '../projections/filling.ts';
import { createFilledPlace } from '../projections/filling.ts';
import { projectedReadModels, readModels } from '../projections/index.ts';
import type { ReadModel } from '../projections/read-model.ts';
import type { RebuildProgress } from '../projections/rebuild.ts';
import { rebuild } from '../projections/rebuild.ts';
import { isFormerInUse } from '../projections/replacement.ts';
import type { BesideComparison, RebuildComparison } from '../ports/read-model-rebuild.ts';
import type { Config } from './config.ts';
import type { EngineDependencies, RebuildBeside } from './engines.ts';
import { areFolded, openLogAndViews, openRebuildBeside } from './engines.ts';
import { patientLog } from './patient-log.ts';
import { createProgress } from './progress.ts';

/** @throws StartError while the scheduler alone runs (cluster), and when the log can't be read for some minutes */
export async function rebuildReadModels(config: Config): Promise<void> {
  const deps = dependenciesOf(config);
  await ((await areFolded(deps)) ? rebuildBeside(deps) : rebuildHere(deps));
}

/** Shows how far a rebuild is that is under way, until it is over. @throws StartError when there is nothing to be rebuilt */
export async function watchRebuilds(config: Config): Promise<void> {
  const deps = dependenciesOf(config);
  const beside = await openRebuildBeside(deps);
  try {
    await untilRebuilt(deps, beside);
  } finally {
    await beside.close();
  }
}

function dependenciesOf(config: Config): EngineDependencies {
  const logger = createLogger({ level: config.LOG_LEVEL });
  const metrics = createMetrics({ processMetrics: false });
  const { signal } = new AbortController();
  return { config, codec: createCodec(), clock: createClock(), logger, metrics, signal };
}

async function rebuildHere(deps: EngineDependencies): Promise<void> {
  const { log, store, close } = await openLogAndViews(deps);
  const progress = createProgress('rebuild');
  try {
    const onProgress = ({ done, total }: RebuildProgress) => progress.update(done, total);
    const results = await rebuild({ log: patientLog(log, deps), store, readModels, onProgress });
    for (const { readModel, events, comparison } of results)
      createProgress(readModel).end(`${events} events folded, ${told(comparison)}`);
  } finally {
    await close();
  }
}

/** The next versions are begun; whoever folds the read models fills them and swaps them in. Ended before that, it goes on without this process. */
async function rebuildBeside(deps: EngineDependencies): Promise<void> {
  const beside = await openRebuildBeside(deps);
  const { store } = beside;
  try {
    for (const { definition } of projectedReadModels) {
      // One that hasn't caught up is being filled already.
      const isInUse = await store.hasCaughtUp(definition.name);
      if (isInUse && (await store.nextVersion(definition)) === null)
        await (await store.beginRebuild(definition)).close();
    }
    process.stderr.write(
      'the service that runs fills the read models beside those in use; the timers stay as they are\n',
    );
    await untilRebuilt(deps, beside);
  } finally {
    await beside.close();
  }
}

const lookEveryMs = 500;

async function untilRebuilt({ clock }: EngineDependencies, beside: RebuildBeside): Promise<void> {
  const progress = createProgress('rebuild');
  const placeOf = createPlaces(beside);
  /** Of each that was seen: when it had been compared before. */
  const seen = new Map<string, number | null>();
  for (;;) {
    let [done, total] = [0, 0];
    const left = new Set<string>();
    for (const readModel of projectedReadModels) {
      const place = await placeOf(readModel);
      if (place === null) continue;
      const reached = await place.reached(await place.ends());
      [done, total] = [done + reached.done, total + reached.total];
      const { name } = readModel.definition;
      left.add(name);
      if (!seen.has(name)) seen.set(name, (await beside.store.lastComparison(name))?.at ?? null);
    }
    if (left.size === 0) break;
    progress.update(done, total);
    await clock.sleep(lookEveryMs);
  }
  progress.end(seen.size === 0 ? 'none is under way' : `${[...seen.keys()].join(', ')} done`);
  for (const [name, before] of seen) {
    const comparison = await beside.store.lastComparison(name);
    if (comparison !== null && comparison.at !== before) createProgress(name).end(toldOfBeside(comparison));
  }
}

/** Of the next version of a read model, or of the one that is filled beside the one it replaces; null: neither is there. */
function createPlaces({ log, store }: RebuildBeside): (readModel: ReadModel) => Promise<FilledPlace | null> {
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

function told({ equal, documents, differing }: RebuildComparison): string {
  if (equal === null) return `${documents} documents; the old ones stood elsewhere in the log and were not compared`;
  if (equal) return `${documents} documents, equal to those before`;
  return `${documents} documents, NOT equal to those before, e.g. ${differing.join(', ')}`;
}
