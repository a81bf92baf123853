// The scheduler: folds the timers read model and, once a number is folded to the log's end, decides what is due.
//
//   take ──> fold ──> due? decide, append ──> wait for entries or the next due time ──┐
//     └───────────────────────────────────────────────────────────────────────────────┘
// Fold and decisions of one number share one loop, so neither sees a document that the other is changing.

import type { Clock } from '../ports/clock.ts';
import type { Claim, LogEntry } from '../ports/event-log.ts';
import type { FoldDependencies, PartitionFold } from '../projections/partition-fold.ts';
import type { RunningProjector } from '../projections/projector.ts';
import { runOnClaims } from '../projections/projector.ts';
import { takenAt } from '../projections/taken-at.ts';
import { timersReadModel } from '../projections/timers/index.ts';
import type { DecidedAtOnce } from './decider.ts';
import { createDecider } from './decider.ts';
import type { RequestBudget } from './request-budget.ts';
import { createRequestBudget } from './request-budget.ts';

export interface SchedulerDependencies extends Omit<FoldDependencies, 'readModel'> {
  readonly decidedAtOnce?: DecidedAtOnce;
}

/** In place of a projector of the timers: it consumes the same group. */
export async function runScheduler(deps: SchedulerDependencies): Promise<RunningProjector> {
  const folding = { ...deps, readModel: timersReadModel };
  const due = measureDue(deps);
  const budget = createRequestBudget();
  return runOnClaims(folding, async (claim, fold) => {
    try {
      await schedulePartition({ ...folding, due, budget }, claim, fold);
    } finally {
      due.delete(claim.partition);
    }
  });
}

/** How often a number that isn't at the log's end looks whether it is. */
const catchUpStepMs = 5;
/** What is decided comes back as an event that says so and one of its end. */
const eventsOfDecided = 2;
/** So many hold up nobody. */
const owedMax = 50;
/** For more of them, before more is decided; what isn't there by then isn't waited for. */
const owedWaitMs = 20;

interface PartitionDependencies extends FoldDependencies, Pick<SchedulerDependencies, 'decidedAtOnce'> {
  readonly due: Map<number, number>;
  readonly budget: RequestBudget;
}

/** How many are due and not decided yet, by partition number. */
function measureDue({ metrics }: Pick<FoldDependencies, 'metrics'>): Map<number, number> {
  const due = new Map<number, number>();
  metrics.increment('herald_timers_fired_total', {}, 0);
  metrics.gauge('herald_timers_due', () => [...due.values()].reduce((sum, count) => sum + count, 0));
  return due;
}

async function schedulePartition(deps: PartitionDependencies, claim: Claim, fold: PartitionFold): Promise<void> {
  const { clock, report, due } = deps;
  const { name } = timersReadModel.definition;
  const { partition, signal } = claim;
  const noteDue = (count: number) => due.set(partition, count);
  const isCurrent = () => claim.isCurrent();
  const decider = createDecider({ ...deps, fold, partition, signal, isCurrent, noteDue });
  const taking = startTaking(fold, clock);
  let isCaughtUp = false;
  /** Events that are to be folded before more is decided: else the fold would fall behind, and who sets a timer then waits for it. */
  let owed = 0;
  while (!signal.aborted) {
    const taken = taking.taken();
    if (taken !== null) {
      const { entries } = taken;
      if (entries === null) return;
      const [oldest] = entries;
      if (oldest !== undefined) report?.inHand(name, partition, takenAt(oldest, clock.now()));
      const written = await fold.fold(entries);
      report?.folded(name, partition);
      if (written === null) return;
      decider.noticed(written);
      taking.next();
      owed = Math.max(0, owed - entries.length);
    } else if (!isCaughtUp && (await fold.atEnd())) {
      // What was taken while the log was asked is on its way: let it arrive.
      await clock.sleep(0);
      isCaughtUp = taking.taken() === null;
      if (isCaughtUp && !(await decider.resume())) return;
    }
    if (taken === null) owed = 0;
    if (isCaughtUp && owed <= owedMax) {
      const before = decider.decided;
      if (!(await decider.decideDue())) return;
      owed += eventsOfDecided * (decider.decided - before);
    }
    const waitMs = owed > owedMax ? owedWaitMs : decider.waitMs();
    await taking.wait(isCaughtUp ? waitMs : catchUpStepMs);
  }
}

interface Taken {
  readonly entries: readonly LogEntry[] | null;
}

interface Taking {
  /** What was taken; null while it is waited for. Its entries are null once the claim has ended. */
  taken(): Taken | null;
  /** Goes on, once what was taken is folded. */
  next(): void;
  /** Until something is taken, at most so long. */
  wait(maxMs: number): Promise<void>;
}

/** One take at a time, waited for beside the due times. */
function startTaking(fold: PartitionFold, clock: Clock): Taking {
  let taken: Taken | null = null;
  let wake = new AbortController();
  const next = (): void => {
    taken = null;
    void fold.take().then((entries) => {
      taken = { entries };
      // Without a reason it would be an error with a stack, for every batch.
      wake.abort(null);
    });
  };
  next();
  return {
    taken: () => taken,
    next,
    async wait(maxMs) {
      if (taken !== null || maxMs <= 0) return;
      wake = new AbortController();
      await clock.sleep(maxMs, wake.signal);
    },
  };
}
