// What a process spends of processor time, by thread, as Linux counts it: seen from outside, so the service has no hook for it and pays nothing.
// Threads are known by their names: Node (24.13 and later) gives a worker's name to its thread.

import { readdirSync, readFileSync } from 'node:fs';

/** Since the thread, or the process, began. */
export interface CpuReading {
  /** All of the process, threads that have ended included. */
  readonly processUs: number;
  readonly threads: readonly ThreadReading[];
}

export interface ThreadReading {
  readonly id: number;
  readonly name: string;
  readonly us: number;
}

/** By thread, the main one first and `V8 and the rest` last. */
export type CpuSpent = ReadonlyMap<string, number>;

const mainThread = 'main';
const otherThreads = 'V8 and the rest';

/** null where there is no /proc. */
export function readCpu(pid: number): CpuReading | null {
  try {
    const threads = readdirSync(`/proc/${pid}/task`).flatMap((id) => readThread(pid, Number(id)));
    return { processUs: parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1')).us, threads };
  } catch {
    return null;
  }
}

/** What was spent from one reading to a later one; threads that came or ended meanwhile included. */
export function cpuBetween(pid: number, before: CpuReading, after: CpuReading): CpuSpent {
  const earlier = new Map(before.threads.map(({ id, us }) => [id, us]));
  const spent = new Map([[mainThread, 0]]);
  for (const { id, name, us } of after.threads) {
    const thread = id === pid ? mainThread : name;
    if (!nodesOwn.test(thread)) add(spent, thread, us - (earlier.get(id) ?? 0));
  }
  const rest = after.processUs - before.processUs - sum(spent);
  // The process is read before its threads, so it may be a tick behind their sum.
  return spent.set(otherThreads, Math.max(0, rest));
}

export function addedUp(all: readonly CpuSpent[]): CpuSpent {
  const total = new Map<string, number>();
  for (const spent of all) for (const [thread, us] of spent) add(total, thread, us);
  const rest = total.get(otherThreads);
  // Last again, whatever came with a later one.
  if (rest !== undefined && total.delete(otherThreads)) total.set(otherThreads, rest);
  return total;
}

export function totalUs(spent: CpuSpent): number {
  return sum(spent);
}

/** Of the one thread that spends most: what limits a machine of many cores. */
export function busiestUs(spent: CpuSpent): number {
  return Math.max(...[...spent].filter(([thread]) => thread !== otherThreads).map(([, us]) => us));
}

/** Name and user and system time of /proc/PID/stat or /proc/PID/task/TID/stat; a name may hold anything, brackets and spaces too. */
export function parseStat(text: string): { readonly name: string; readonly us: number } {
  const nameEnd = text.lastIndexOf(')');
  const fields = text.slice(nameEnd + 2).split(' ');
  // The 14th and the 15th of all (proc_pid_stat(5)); pid and name stand before these.
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { name: text.slice(text.indexOf('(') + 1, nameEnd), us: ticks * tickUs };
}

/** USER_HZ is 100 on every system that Node runs on, whatever the kernel's own. */
const tickUs = 10_000;

/** V8's helpers and its profiler, libuv's pool, the timer of V8's tasks, the debugger's: none of them has JavaScript of ours to run. */
const nodesOwn = /^(V8Worker|v8:|DelayedTaskSche|SignalInspector|InspectorIo|libuv-worker|iou-|node$)/;

function readThread(pid: number, id: number): ThreadReading[] {
  try {
    return [{ id, ...parseStat(readFileSync(`/proc/${pid}/task/${id}/stat`, 'latin1')) }];
  } catch {
    // It has ended since the folder was read.
    return [];
  }
}

function add(to: Map<string, number>, thread: string, us: number): void {
  to.set(thread, (to.get(thread) ?? 0) + us);
}

function sum(spent: CpuSpent): number {
  return [...spent.values()].reduce((a, b) => a + b, 0);
}
