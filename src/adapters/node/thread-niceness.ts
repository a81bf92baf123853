// Who comes first where threads of a process want more processors than there are.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { availableParallelism, getPriority, setPriority } from 'node:os';

/** A third of the others' weight where they want the same processor; on one that is free it goes as quickly as they do. */
const stepsBehind = 5;
const nicenessMax = 19;

/** The name of the threads that V8 collects, marks and compiles with beside those that it does so for. */
const helperName = 'V8Worker';

/**
 * The calling thread gives way to others. On Linux, where each has a niceness of its own; elsewhere, and where that is forbidden, all stay equal. So they do
 * on a single processor, of which it would get a quarter as long as another is busy.
 */
export function giveWayToOthers(): void {
  // PID/task/TID
  letGiveWay(() => [Number(readlinkSync('/proc/thread-self').split('/').at(-1))]);
}

/** The same of V8's helpers in this process, which there are from its start on: what they do may come a moment later, and nobody waits for it. */
export function letHelpersGiveWay(): void {
  letGiveWay(() => readdirSync('/proc/self/task').map(Number).filter(isHelper));
}

function letGiveWay(threads: () => readonly number[]): void {
  if (process.platform !== 'linux' || availableParallelism() < 2) return;
  try {
    const niceness = Math.min(getPriority() + stepsBehind, nicenessMax);
    for (const thread of threads()) setPriority(thread, niceness);
  } catch {
    // Then they take their turns as the others do.
  }
}

function isHelper(thread: number): boolean {
  return readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim() === helperName;
}
