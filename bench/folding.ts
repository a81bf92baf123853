// Times a fold from the outside: from no read models at all until the real projectors have seen every event, as the service counts them itself, and what they
// have made of them is whole: with its indexes.

import { searchReadModel } from '../src/projections/search/index.ts';
import type { CpuReading, CpuSpent } from './cpu.ts';
import { cpuBetween, readCpu } from './cpu.ts';
import type { Filled } from './protocol.ts';
import { monotonicMs } from './protocol.ts';
import type { Point } from './results.ts';
import type { Service } from './service.ts';

export interface Folded {
  /** Until the records and the inbox were folded, and until the search, which lets them go first, was too. */
  readonly recordsMs: number;
  readonly searchMs: number;
  /** null where the system doesn't tell. */
  readonly cost: FoldCost | null;
  /** Events a second, of all read models. */
  readonly overTime: readonly Point[];
}

export interface FoldCost {
  readonly all: CpuSpent;
  /** us of all threads for a notification in the search alone, and in everything else. */
  readonly searchUs: number;
  readonly restUs: number;
}

const foldWithinMs = 1_800_000;
const lookEveryMs = 100;
const tellEveryMs = 5000;
const pointEveryMs = 1000;
const search = searchReadModel.definition.name;

interface Look {
  readonly atMs: number;
  readonly folded: ReadonlyMap<string, number>;
  /** Read models that aren't whole yet. */
  readonly catchingUp: ReadonlySet<string>;
  readonly cpu: CpuReading | null;
}

/** From the last look at which nothing was folded: before it the process starts and joins its groups. */
export async function timeFold(
  service: Pick<Service, 'operationsUrl' | 'pid'>,
  { foldedEvents: wanted, notifications }: Pick<Filled, 'foldedEvents'> & { readonly notifications: number },
  progress: (line: string) => void,
): Promise<Folded> {
  const total = sumOf(new Map(Object.entries(wanted)));
  const overTime: Point[] = [];
  let begun = await look(service);
  let records: Look | null = null;
  let told = begun;
  let drawn = begun;
  let seen = 0;
  for (;;) {
    const now = await look(service);
    const sum = sumOf(now.folded);
    // Counts only grow: where there are fewer a thread hasn't told its own in time, and isn't at its beginning again.
    const isTold = sum >= seen;
    seen = Math.max(seen, sum);
    if (isTold && sum === 0) begun = told = drawn = now;
    const behind = Object.entries(wanted).flatMap(([readModel, events]) =>
      (now.folded.get(readModel) ?? 0) < events || now.catchingUp.has(readModel) ? [readModel] : [],
    );
    if (behind.every((readModel) => readModel === search)) records ??= now;
    if (isTold && now.atMs - drawn.atMs >= pointEveryMs) {
      const value = ((sum - sumOf(drawn.folded)) / (now.atMs - drawn.atMs)) * 1000;
      overTime.push({ atSeconds: (now.atMs - begun.atMs) / 1000, value });
      drawn = now;
    }
    if (behind.length === 0 && records !== null) {
      const cost = costOf(service.pid, { begun, records, end: now }, notifications);
      return { recordsMs: records.atMs - begun.atMs, searchMs: now.atMs - begun.atMs, cost, overTime };
    }
    if (now.atMs - begun.atMs > foldWithinMs)
      throw new Error(`not folded within ${foldWithinMs / 1000} s: ${JSON.stringify([...now.folded])}`);
    if (now.atMs - told.atMs > tellEveryMs) {
      told = now;
      progress(`fold: ${sum} of ${total} events folded`);
    }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

/** Once the records are folded only the search is: what that stretch costs is the search's, and what is left of all the others'. */
function costOf(
  pid: number,
  { begun, records, end }: { readonly begun: Look; readonly records: Look; readonly end: Look },
  notifications: number,
): FoldCost | null {
  if (begun.cpu === null || records.cpu === null || end.cpu === null) return null;
  const all = cpuBetween(pid, begun.cpu, end.cpu);
  const searched = (end.folded.get(search) ?? 0) - (records.folded.get(search) ?? 0);
  const searchUs = searched === 0 ? Number.NaN : (end.cpu.processUs - records.cpu.processUs) / searched;
  return { all, searchUs, restUs: (end.cpu.processUs - begun.cpu.processUs) / notifications - searchUs };
}

async function look(service: Pick<Service, 'operationsUrl' | 'pid'>): Promise<Look> {
  const metrics = await (await fetch(`${service.operationsUrl}/metrics`)).text();
  const catchingUp = [...byReadModel(metrics, 'herald_read_model_catching_up')].filter(([, is]) => is > 0);
  return {
    atMs: monotonicMs(),
    folded: byReadModel(metrics, 'herald_folded_events_total'),
    catchingUp: new Set(catchingUp.map(([readModel]) => readModel)),
    cpu: readCpu(service.pid),
  };
}

function byReadModel(metrics: string, name: string): Map<string, number> {
  const values = metrics.matchAll(new RegExp(`^${name}\\{.*read_model="(\\w+)".*\\} (\\d+)$`, 'gm'));
  return new Map([...values].map(([, readModel = '', value]) => [readModel, Number(value)]));
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((a, b) => a + b, 0);
}
