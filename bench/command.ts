// A command of the service that runs to its end in a process of its own, and what it took: time, processor time by thread, memory.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

import type { CpuReading, CpuSpent } from './cpu.ts';
import { cpuBetween, readCpu } from './cpu.ts';
import { monotonicMs } from './protocol.ts';
import type { Place } from './service.ts';
import { residentMemory, serviceCommand } from './service.ts';

export interface CommandRun {
  /** From the start of the process to its end. */
  readonly tookMs: number;
  /** Seen at the last look before its end; null where the system doesn't tell. */
  readonly spent: CpuSpent | null;
  /** At its highest; null where the system doesn't tell. */
  readonly peakMiB: number | null;
}

/** Its end may be missed by so much: a thousandth of a minute. */
const lookEveryMs = 50;
const nothing: CpuReading = { processUs: 0, threads: [] };

/** @throws Error with what it said, when it fails */
export async function measureCommand({ environment }: Place, args: readonly string[]): Promise<CommandRun> {
  const startedAt = monotonicMs();
  const child = spawn(process.execPath, [...serviceCommand, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const { pid = 0 } = child;
  let cpu: CpuReading | null = null;
  let peakMiB: number | null = null;
  const look = () => {
    cpu = readCpu(pid) ?? cpu;
    // One that has ended and isn't gone yet has no memory any more.
    const seen = residentMemory(pid)?.peakMiB ?? Number.NaN;
    if (Number.isFinite(seen)) peakMiB = seen;
  };
  const looking = setInterval(look, lookEveryMs);
  try {
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit') as Promise<[number | null]>]);
    const tookMs = monotonicMs() - startedAt;
    if (code !== 0) throw new Error(`${args[0]} ended with ${code}:\n${said.slice(-2000)}`);
    return { tookMs, spent: cpu === null ? null : cpuBetween(pid, nothing, cpu), peakMiB };
  } finally {
    clearInterval(looking);
  }
}
