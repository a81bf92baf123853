// Whether the read models say what is so: the store answers, what is folded here is folded, and nothing that is asked for is only half there.

import type { UpOrWhy } from '../api/operations.ts';
import type { CatchUps } from '../api/whole-read-models.ts';
import { saidOf } from '../api/whole-read-models.ts';
import type { Clock } from '../ports/clock.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { readModels } from '../projections/index.ts';
import type { FoldState } from '../projections/fold-report.ts';

/** What fails for so long isn't a passing conflict. */
const failingMaxMs = 2_000;

export function readModelHealth(of: {
  readonly reader: Pick<ReadModelReader, 'ready'>;
  /** What is wrong with where they are kept; null: nothing that is known. */
  damage(): string | null;
  readonly clock: Clock;
  /** What the projectors of this process are at. */
  folding(): readonly FoldState[];
  /** Those that this process answers from. */
  readonly catchUps: CatchUps;
}): () => Promise<UpOrWhy> {
  const { reader, damage, clock, folding, catchUps } = of;
  const mayLag = new Set(readModels.filter((of) => of.mayLag === true).map(({ definition }) => definition.name));

  return async () => {
    const why = damage();
    if (why !== null) return why;
    if (!(await reader.ready())) return false;
    for (const { readModel, failing } of folding()) {
      if (failing === null || clock.now() - failing.since < failingMaxMs) continue;
      return `${readModel}, number ${failing.partition}: can't ${failing.step}: ${failing.reason}`;
    }
    for (const [name, catchUp] of catchUps) {
      const progress = mayLag.has(name) ? null : await catchUp.progress();
      if (progress !== null) return saidOf(name, progress);
    }
    return true;
  };
}
