// What work costs: processor time by thread, of one unit, and as a multiple of what the empty Express app spends on one request in the same run.
// A noisy machine makes both of them slower, and little dearer.

import { addedUp, busiestUs, cpuBetween, readCpu, totalUs } from './cpu.ts';
import type { CpuSpent } from './cpu.ts';
import type { Target } from './results.ts';
import type { Stage } from './stage.ts';

/** A process that is measured, and the name of what it does: of its rows and profiles. */
export interface Measured {
  readonly pid: number;
  /** null: it can't be profiled, or nobody asked. */
  readonly inspectorUrl: string | null;
  readonly name: string;
}

export interface Spending<T> {
  readonly result: T;
  /** null where the system doesn't tell. */
  readonly spent: CpuSpent | null;
}

/** Does the work and says what the process spent meanwhile; its threads are profiled as well, if that was asked for. */
export async function spending<T>(stage: Stage, measured: Measured, work: () => Promise<T>): Promise<Spending<T>> {
  const profiling = await stage.profiles.begin(measured);
  const before = readCpu(measured.pid);
  const result = await work();
  const after = readCpu(measured.pid);
  await profiling.end();
  return { result, spent: before === null || after === null ? null : cpuBetween(measured.pid, before, after) };
}

export interface CostTargets {
  readonly inExpressRequests?: Target;
  readonly busiestThreadUs?: Target;
}

/** Rows of what so many units cost. @param expressUs what Express spends on one request; null: isn't known */
export function addCost(
  stage: Stage,
  what: string,
  all: readonly (CpuSpent | null)[],
  units: number,
  expressUs: number | null,
  targets: CostTargets = {},
): void {
  const known = all.filter((spent) => spent !== null);
  if (known.length < all.length) return;
  const spent = addedUp(known);
  const { results } = stage;
  for (const [thread, us] of spent) results.add(`cost: ${what}: ${thread}`, us / units, 'us');
  results.add(`cost: ${what}: all threads`, totalUs(spent) / units, 'us');
  results.add(`cost: ${what}: busiest thread`, busiestUs(spent) / units, 'us', targets.busiestThreadUs);
  if (expressUs !== null) {
    const multiple = totalUs(spent) / units / expressUs;
    results.add(`cost: ${what}: in requests of the empty Express`, multiple, 'x', targets.inExpressRequests);
  }
}
