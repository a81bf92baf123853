// herald rebuild: folds every read model anew from the log, compares it with the one in use and swaps it in.

import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import { openEventLog } from '../adapters/sqlite/event-log/event-log.ts';
import { openReadModelStore } from '../adapters/sqlite/read-models/store.ts';
import { createCodec } from '../codec/index.ts';
import { readModels } from '../projections/index.ts';
import { rebuild } from '../projections/rebuild.ts';
import type { RebuildComparison } from '../ports/read-model-rebuild.ts';
import type { Config } from './config.ts';
import { dataFiles } from './data-files.ts';
import { eventLogShape } from './event-log-shape.ts';
import { lockOrExplain } from './lock.ts';
import type { Progress } from './progress.ts';
import { createProgress } from './progress.ts';

/** @throws StartError while the service runs */
export async function rebuildReadModels(config: Config): Promise<void> {
  const lock = lockOrExplain(config);
  const files = dataFiles(config.DATA_DIR);
  const logger = createLogger({ level: config.LOG_LEVEL });
  const log = openEventLog({ ...eventLogShape, path: files.log, codec: createCodec(), clock: createClock(), logger });
  const store = openReadModelStore({ path: files.views, logger });
  const shown = new Map<string, Progress>();
  const progressOf = (readModel: string): Progress => {
    const known = shown.get(readModel) ?? createProgress(readModel);
    shown.set(readModel, known);
    return known;
  };
  try {
    for (const readModel of readModels) {
      const onProgress = ({ done, total }: { done: number; total: number }) =>
        progressOf(readModel.definition.name).update(done, total);
      const [result] = await rebuild({ log, store, readModels: [readModel], onProgress });
      if (result !== undefined)
        progressOf(result.readModel).end(`${result.events} events folded, ${told(result.comparison)}`);
    }
  } finally {
    await store.close();
    await log.close();
    lock.release();
  }
}

function told({ equal, documents, differing }: RebuildComparison): string {
  if (equal === null) return `${documents} documents; the old ones stood elsewhere in the log and were not compared`;
  if (equal) return `${documents} documents, equal to those before`;
  return `${documents} documents, NOT equal to those before, e.g. ${differing.join(', ')}`;
}
