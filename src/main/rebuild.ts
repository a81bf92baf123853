// herald rebuild: folds the read models anew from the log and swaps them in. Where a service folds them it is asked to, and goes on serving; else it is done
// here, and compared with what was in use.

import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import { createMetrics } from '../adapters/node/metrics.ts';
import { createCodec } from '../codec/index.ts';
import { projectedReadModels, readModels } from '../projections/index.ts';
import type { RebuildProgress } from '../projections/rebuild.ts';
import { rebuild } from '../projections/rebuild.ts';
import type { RebuildComparison } from '../ports/read-model-rebuild.ts';
import type { Config } from './config.ts';
import type { EngineDependencies } from './engines.ts';
import { areFolded, openLogAndViews, openRebuildBeside } from './engines.ts';
import { patientLog } from './patient-log.ts';
import { createProgress } from './progress.ts';
import { untilRebuilt } from './rebuild-progress.ts';

/** @throws StartError while the scheduler alone runs (cluster), when there is no log or it can't be read for some minutes, and once nobody is there who would fold */
export async function rebuildReadModels(config: Config): Promise<void> {
  const deps = dependenciesOf(config);
  await ((await areFolded(deps)) ? rebuildBeside(deps) : rebuildHere(deps));
}

/** Shows how far a rebuild is that is under way, until it is over. @throws StartError when there is nothing to be rebuilt, and once nobody is there who would fold */
export async function watchRebuilds(config: Config): Promise<void> {
  const deps = dependenciesOf(config);
  const beside = await openRebuildBeside(deps);
  try {
    await untilRebuilt(watchOf(deps), beside);
  } finally {
    await beside.close();
  }
}

function watchOf(deps: EngineDependencies) {
  return { clock: deps.clock, areFolded: () => areFolded(deps) };
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
    await untilRebuilt(watchOf(deps), beside);
  } finally {
    await beside.close();
  }
}

function told({ equal, documents, differing }: RebuildComparison): string {
  if (equal === null) return `${documents} documents; the old ones stood elsewhere in the log and were not compared`;
  if (equal) return `${documents} documents, equal to those before`;
  return `${documents} documents, NOT equal to those before, e.g. ${differing.join(', ')}`;
}
