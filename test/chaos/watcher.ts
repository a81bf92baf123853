// Looks at every process while the chaos runs: its metrics and its readiness go to a file, its memory's highest is kept.

import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Fleet } from './fleet.ts';
import { repeatedly } from './repeatedly.ts';

export interface Watcher {
  start(): void;
  stop(): Promise<void>;
  /** MiB, by role. */
  highestMemory(): ReadonlyMap<string, number>;
}

const everyMs = 5_000;
const answersWithinMs = 2_000;

export function createWatcher(fleet: Fleet, folder: string): Watcher {
  const memory = new Map<string, number>();
  let end: () => Promise<void> = async () => undefined;

  async function look(process: string, operationsUrl: string): Promise<void> {
    const [metrics, ready] = await Promise.all([
      text(`${operationsUrl}/metrics`),
      text(`${operationsUrl}/health/ready`),
    ]);
    if (metrics === null) return;
    const [role = ''] = process.split('-');
    const resident = Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1] ?? 0) / 1024 ** 2;
    memory.set(role, Math.max(memory.get(role) ?? 0, Math.round(resident)));
    // What stands at 0 says nothing here.
    const told = metrics.split('\n').filter((line) => /^herald_\S+ (?!0$)/.test(line) && !line.includes('_bucket'));
    const lines = [`--- ${new Date().toISOString()}`, ready ?? 'no answer', ...told, ''];
    await appendFile(join(folder, `${process}.metrics`), lines.join('\n'));
  }

  async function run(): Promise<void> {
    await Promise.all(fleet.running().map(({ process, operationsUrl }) => look(process, operationsUrl)));
  }

  return {
    start() {
      end = repeatedly(everyMs, run);
    },
    stop: () => end(),
    highestMemory: () => memory,
  };
}

async function text(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(answersWithinMs) });
    return await response.text();
  } catch {
    return null;
  }
}
