// The entry of the projectors' thread: projectors and scheduler on engines of its own.

import { workerData } from 'node:worker_threads';

import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import { createMetrics } from '../adapters/node/metrics.ts';
import { giveWayToOthers } from '../adapters/node/thread-niceness.ts';
import { createCodec } from '../codec/index.ts';
import type { Metrics } from '../ports/metrics.ts';
import { noteWhenCaughtUp } from '../projections/catching-up.ts';
import type { FillingStates } from '../projections/filling.ts';
import { fillingStillMs } from '../projections/filling.ts';
import { createFoldReport } from '../projections/fold-report.ts';
import { projectedReadModels } from '../projections/index.ts';
import { runLiveRebuilds } from '../projections/live-rebuild.ts';
import type { RunningProjector } from '../projections/projector.ts';
import { runProjector } from '../projections/projector.ts';
import { runReplacing } from '../projections/replacement.ts';
import { timersReadModel } from '../projections/timers/index.ts';
import { createTurns } from '../projections/turns.ts';
import { runScheduler } from '../scheduler/index.ts';
import { createAppendCount, noteAppends } from './count-appends.ts';
import { clusterHeapGrowsPercent, letHeapsGrowUntil } from './heap.ts';
import { noteOldestIn } from './oldest-in-hand.ts';
import { openThreadEngines } from './thread-engines.ts';
import type { FoldingTold, ProjectorThreadInput } from './projector-thread.ts';
import { toMainThread } from './thread-entry.ts';

/** Who asks for a read model that is replaced learns of it within half a second; a query of 4.5 s may be on its way, and as much again. */
const formerKeptMs = 10_000;

const input = workerData as ProjectorThreadInput;
// What it does at once may wait for a beat as well; who accepts and delivers is waited for by people.
giveWayToOthers();

const clock = createClock();
const logger = createLogger({ level: input.logLevel });
const metrics = createMetrics({ processMetrics: false, thread: 'projectors' });
const stopping = new AbortController();
const engines = await openThreadEngines(input.engines, {
  codec: createCodec(),
  clock,
  logger,
  metrics,
  signal: stopping.signal,
});
const { store } = engines;
const log = noteAppends(engines.log, createAppendCount(metrics));
const running: RunningProjector[] = [];
const report = createFoldReport(clock, noteOldestIn(input.oldestInHand));
const deps = { log, store, clock, logger, metrics, turns: createTurns(clock), report };
const filling = measureFilling(metrics);
if (input.runsProjectors)
  for (const readModel of projectedReadModels) {
    const { isFollowed } = engines;
    const former = readModel.replaces?.readModel;
    running.push(
      await (former === undefined
        ? runProjector({ ...deps, readModel })
        : runReplacing({ ...deps, readModel, filling, formerKeptMs, isFollowed }, former)),
    );
    running.push(runLiveRebuilds({ ...deps, readModel, filling, oldKeptMs: formerKeptMs }));
  }
if (input.runsScheduler) running.push(await runScheduler(deps));

const folded = [
  // One that replaces another notes it by itself.
  ...(input.runsProjectors ? projectedReadModels.filter(({ replaces }) => replaces === undefined) : []),
  ...(input.runsScheduler ? [timersReadModel] : []),
];
const foldsOver = new AbortController();
const catchingUp = new Set(folded);
const noting = folded.map(async (readModel) => {
  await noteWhenCaughtUp({ ...deps, readModel, signal: foldsOver.signal });
  catchingUp.delete(readModel);
});
metrics.gauges(
  'herald_read_model_catching_up',
  () =>
    folded.map((readModel) => [{ read_model: readModel.definition.name }, Number(catchingUp.has(readModel))] as const),
  { read_model: '' },
);
void letHeapsGrowUntil(Promise.all(noting), input.engines.kind === 'cluster' ? clusterHeapGrowsPercent : undefined);
const main = toMainThread<FoldingTold>({
  metrics,
  async stop() {
    stopping.abort();
    await Promise.all(running.map((one) => one.stop()));
    foldsOver.abort();
    await Promise.all(noting);
    await engines.close();
    logger.flush();
  },
});
main.started();
main.tellChanges(report.states);

/** How far each read model is that is filled beside another. */
function measureFilling(by: Metrics): FillingStates {
  const states: FillingStates = new Map();
  by.gauges(
    'herald_rebuild_events',
    () =>
      [...states].flatMap(([readModel, { done, total }]) => [
        [{ read_model: readModel, state: 'done' }, done] as const,
        [{ read_model: readModel, state: 'left' }, total - done] as const,
      ]),
    { read_model: '', state: '' },
  );
  const isStill = (readModel: string): boolean =>
    clock.monotonic() - (states.get(readModel)?.movedAt ?? Infinity) >= fillingStillMs;
  by.gauges(
    'herald_rebuild_standing_still',
    () => projectedReadModels.map(({ definition: { name } }) => [{ read_model: name }, Number(isStill(name))] as const),
    { read_model: '' },
  );
  return states;
}
