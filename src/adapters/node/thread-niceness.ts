// Who comes first where threads of a process want more processors than there are.

import { readlinkSync } from 'node:fs';
import { availableParallelism, getPriority, setPriority } from 'node:os';

/** A third of the others' weight where they want the same processor; on one that is free it goes as quickly as they do. */
const stepsBehind = 5;
const nicenessMax = 19;

/**
 * The calling thread gives way to others. On Linux, where each has a niceness of its own; elsewhere, and where that is forbidden, all stay equal. So they do
 * on a single processor, of which it would get a quarter as long as another is busy.
 */
export function giveWayToOthers(): void {
  if (process.platform !== 'linux' || availableParallelism() < 2) return;
  try {
    // PID/task/TID
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(thread, Math.min(getPriority() + stepsBehind, nicenessMax));
  } catch {
    // Then it takes its turns as they do.
  }
}
