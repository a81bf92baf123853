// The entry of the projectors' thread: the one writer of views.db. It reads the log by itself and asks the main thread to append.

import { parentPort, workerData } from 'node:worker_threads';

import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import { createMetrics } from '../adapters/node/metrics.ts';
import { connectEventLog } from '../adapters/sqlite/event-log/connected.ts';
import { openReadModelStore } from '../adapters/sqlite/read-models/store.ts';
import { createCodec } from '../codec/index.ts';
import { projectedReadModels } from '../projections/index.ts';
import type { RunningProjector } from '../projections/projector.ts';
import { runProjector } from '../projections/projector.ts';
import { runScheduler } from '../scheduler/index.ts';
import type { FromThread, ProjectorThreadInput, ToThread } from './projector-thread.ts';

const input = workerData as ProjectorThreadInput;
const tell = (message: FromThread) => parentPort?.postMessage(message);

const clock = createClock();
const logger = createLogger({ level: input.logLevel });
const metrics = createMetrics({ processMetrics: false });
const log = await connectEventLog(input.log, { codec: createCodec(), clock, logger });
const store = openReadModelStore({ path: input.viewsPath, logger, changes: input.changes });
const running: RunningProjector[] = [];
const deps = { log, store, clock, logger, metrics };
if (input.runsProjectors)
  for (const readModel of projectedReadModels) running.push(await runProjector({ ...deps, readModel }));
if (input.runsScheduler) running.push(await runScheduler(deps));

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'stop') void stop();
  else void metrics.snapshot().then((snapshot) => tell({ kind: 'metrics', id: message.id, snapshot }));
});
tell({ kind: 'started' });

async function stop(): Promise<void> {
  await Promise.all(running.map((one) => one.stop()));
  await log.close();
  await store.close();
  logger.flush();
  tell({ kind: 'stopped' });
}
