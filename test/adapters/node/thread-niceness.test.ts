// A thread that gives way, as the system sees it, and those beside it.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

import { describe, expect, it } from '@jest/globals';

/** Elsewhere there is nothing to see: the call leaves the thread as it is. CI has Linux and two processors. */
const onLinuxOfSeveral = process.platform === 'linux' && availableParallelism() > 1 ? it : it.skip;
const modulePath = new URL('../../../src/adapters/node/thread-niceness.ts', import.meta.url).href;
const name = 'giving-way';

describe('a thread that gives way to others', () => {
  onLinuxOfSeveral('does so alone', async () => {
    const code = `import(${JSON.stringify(modulePath)}).then(({ giveWayToOthers }) => {
      giveWayToOthers();
      require('node:worker_threads').parentPort.postMessage('done');
    });
    setInterval(() => {}, 1000);`;
    const before = nicenessOf(process.pid);
    const worker = new Worker(code, { eval: true, name });
    await new Promise((resolve) => worker.once('message', resolve));
    const threads = readdirSync('/proc/self/task').map(Number);
    const named = threads.filter((id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim() === name);
    expect(named.map(nicenessOf)).toEqual([Math.min(before + 5, 19)]);
    expect(nicenessOf(process.pid)).toBe(before);
    await worker.terminate();
  });
});

describe("V8's helpers that give way", () => {
  onLinuxOfSeveral('are all that there are of them in the process, and nobody else', () => {
    const code = `import { readdirSync, readFileSync } from 'node:fs';
      import { letHelpersGiveWay } from ${JSON.stringify(modulePath)};
      const threads = () => readdirSync('/proc/self/task').map((id) => {
        const stat = readFileSync('/proc/self/task/' + id + '/stat', 'utf8');
        const comm = readFileSync('/proc/self/task/' + id + '/comm', 'utf8').trim();
        return { id, comm, niceness: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]) };
      });
      const before = threads();
      letHelpersGiveWay();
      console.log(JSON.stringify({ before, after: threads() }));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    const { before, after } = JSON.parse(stdout) as Record<'before' | 'after', ThreadSeen[]>;
    const isHelper = ({ comm }: ThreadSeen) => comm === 'V8Worker';
    expect(before.filter(isHelper).length).toBeGreaterThan(0);
    const expected = before.map((thread) =>
      isHelper(thread) ? { ...thread, niceness: Math.min(thread.niceness + 5, 19) } : thread,
    );
    expect(after).toEqual(expected);
  });
});

interface ThreadSeen {
  readonly id: string;
  readonly comm: string;
  readonly niceness: number;
}

/** The 19th of proc_pid_stat(5); the name may hold spaces. */
function nicenessOf(thread: number): number {
  const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
}
