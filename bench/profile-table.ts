// A CPU profile by module: the time that was spent in the code of a source folder, a package or Node itself, whoever called it.

import type { CpuProfile } from './inspector.ts';
import { formatted } from './results.ts';

export interface ModuleTime {
  readonly module: string;
  readonly us: number;
  /** Of all that wasn't idle. */
  readonly share: number;
}

const rowsMax = 30;

export function moduleTable(profile: CpuProfile): string {
  const times = timesByModule(profile);
  const width = Math.max(...times.map(({ module }) => module.length));
  const line = ({ module, us, share }: ModuleTime) =>
    `  ${module.padEnd(width)}  ${formatted(us / 1000).padStart(9)} ms  ${formatted(share * 100).padStart(5)} %`;
  return times.slice(0, rowsMax).map(line).join('\n');
}

/** The most first. */
export function timesByModule({ nodes, samples = [], timeDeltas = [] }: CpuProfile): ModuleTime[] {
  const modules = new Map(nodes.map(({ id, callFrame }) => [id, moduleOf(callFrame.functionName, callFrame.url)]));
  const byModule = new Map<string, number>();
  let total = 0;
  // A sample's time lasts until the next one; what the last one's would be isn't known.
  for (const [i, id] of samples.entries()) {
    const module = modules.get(id);
    const us = Math.max(0, timeDeltas[i + 1] ?? 0);
    if (module === undefined || module === null) continue;
    byModule.set(module, (byModule.get(module) ?? 0) + us);
    total += us;
  }
  return [...byModule]
    .map(([module, us]) => ({ module, us, share: total === 0 ? 0 : us / total }))
    .sort((a, b) => b.us - a.us);
}

/** null: nothing was run. */
export function moduleOf(functionName: string, url: string): string | null {
  if (functionName === '(idle)' || functionName === '(root)') return null;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === '(program)') return 'the system and native code';
  // Of V8 or bound by Node: a statement of SQLite, a write to a socket, a sort.
  if (url === '') return `built-in ${functionName === '' ? '(anonymous)' : functionName}`;
  if (url.startsWith('node:')) return url.split('/').slice(0, 2).join('/');
  const packaged = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (packaged !== undefined) return `npm ${packaged}`;
  return /\/((?:src|bin|bench)(?:\/[^/]+)*)\/[^/]+$/.exec(url)?.[1] ?? url;
}
