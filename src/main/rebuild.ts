// herald rebuild: folds every read model anew from the log, compares it with the one in use and swaps it in.

import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import { createMetrics } from '../adapters/node/metrics.ts';
import { createCodec } from '../codec/index.ts';
import { readModels } from '../projections/index.ts';
import type { RebuildProgress } from '../projections/rebuild.ts';
import { rebuild } from '../projections/rebuild.ts';
import type { RebuildComparison } from '../ports/read-model-rebuild.ts';
import type { Config } from './config.ts';
import { openLogAndViews } from './engines.ts';
import { patientLog } from './patient-log.ts';
import { createProgress } from './progress.ts';

/** @throws StartError while the service runs (embedded) or projects (cluster), and when the log can't be read for some minutes */
export async function rebuildReadModels(config: Config): Promise<void> {
  const clock = createClock();
  const logger = createLogger({ level: config.LOG_LEVEL });
  const { log, store, close } = await openLogAndViews({
    config,
    codec: createCodec(),
    clock,
    logger,
    metrics: createMetrics({ processMetrics: false }),
    signal: new AbortController().signal,
  });
  const progress = createProgress('rebuild');
  try {
    const onProgress = ({ done, total }: RebuildProgress) => progress.update(done, total);
    const results = await rebuild({ log: patientLog(log, { clock, logger }), store, readModels, onProgress });
    for (const { readModel, events, comparison } of results)
      createProgress(readModel).end(`${events} events folded, ${told(comparison)}`);
  } finally {
    await close();
  }
}

function told({ equal, documents, differing }: RebuildComparison): string {
  if (equal === null) return `${documents} documents; the old ones stood elsewhere in the log and were not compared`;
  if (equal) return `${documents} documents, equal to those before`;
  return `${documents} documents, NOT equal to those before, e.g. ${differing.join(', ')}`;
}
