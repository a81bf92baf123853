// The thread of the projectors and the scheduler, as the main thread sees it.

import type { FoldState } from '../projections/fold-report.ts';
import { formerReadModels, readModels } from '../projections/index.ts';
import { createOldestInHand, type OldestInHand, oldestOf } from './oldest-in-hand.ts';
import type { ServiceThread } from './service-thread.ts';
import { startThread } from './service-thread.ts';
import type { ThreadEngines } from './thread-engines.ts';
import { transfersOf } from './thread-engines.ts';

export interface ProjectorThreadInput {
  readonly engines: ThreadEngines;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly runsProjectors: boolean;
  readonly runsScheduler: boolean;
  readonly oldestInHand: OldestInHand;
}

/** What it says of itself. */
export type FoldingTold = readonly FoldState[];

export interface ProjectorThread extends ServiceThread {
  /** What failed, when it said so last: within a second. */
  folding(): readonly FoldState[];
  /** When the log took the oldest event that it has in hand of a read model, UTC ms; null: it has none. */
  oldestInHandAt(readModel: string): number | null;
}

const stopWithinMs = 10_000;

/** Resolves when it follows the log. */
export async function startProjectorThread(
  told: Omit<ProjectorThreadInput, 'oldestInHand'>,
  signal: AbortSignal,
): Promise<ProjectorThread> {
  const folded = [...readModels, ...formerReadModels];
  const oldestInHand = createOldestInHand(folded.map(({ definition }) => definition.name));
  const input: ProjectorThreadInput = { ...told, oldestInHand };
  let folding: FoldingTold = [];
  const thread = await startThread<FoldingTold>({
    name: 'projectors',
    entry: new URL('./projector-worker.ts', import.meta.url),
    input,
    transfers: transfersOf(input.engines),
    engines: input.engines.kind,
    stopWithinMs,
    signal,
    hear(states) {
      folding = states;
    },
  });
  return { ...thread, folding: () => folding, oldestInHandAt: oldestOf(oldestInHand) };
}
