// The processes under chaos: each in its slot with ports that stay, its log in a file; whatever is done to one is written down with its time.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

import type { Environment } from '../support/herald.ts';
import { heraldCommand, processEnvironment } from '../support/herald.ts';
import { readinessOf } from '../support/nodes.ts';
import { until } from '../support/until.ts';
import type { Slot, Step } from './plan.ts';
import { roleOf, roles } from './plan.ts';
import type { Happening } from './timeline.ts';

export interface Fleet {
  readonly happened: readonly Happening[];
  /** Where an API listens, whether it does or not. */
  readonly apiUrls: readonly string[];
  /** Slots whose process runs, frozen ones included, and where each tells of itself. */
  running(): readonly { readonly slot: Slot; readonly process: string; readonly operationsUrl: string }[];
  /** Resolves when it is done: one that is stopped has left; one that is started may be far from ready. */
  run(step: Pick<Step, 'slot' | 'does'>): Promise<void>;
  /** Continues what is frozen, starts what is missing of these, and resolves when all are ready. */
  allReady(slots: readonly Slot[]): Promise<void>;
  /** Nothing of it is left, whatever state it was in. */
  killAll(): Promise<void>;
}

interface Running {
  readonly name: string;
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  isFrozen: boolean;
  isEnding: boolean;
}

/** As the operations page says: SIGTERM, and 40 s. */
const leavesWithinMs = 40_000;
/** Topics and indexes are made at the first start; groups wait for members that were killed; and the machine is busy. */
const readyWithinMs = 180_000;

export function createFleet(options: {
  readonly environment: Environment;
  readonly logFolder: string;
  /** First of `portsOf` consecutive free ones. */
  readonly firstPort: number;
  readonly tell: (line: string) => void;
}): Fleet {
  const { environment, logFolder, firstPort, tell } = options;
  const running = new Map<Slot, Running>();
  const counts = new Map<Slot, number>();
  const happened: Happening[] = [];
  /** A slot's steps one after another: a start waits until what was stopped there has left. */
  const turns = new Map<Slot, Promise<void>>();

  function note(slot: Slot, name: string, what: Happening['what'], told?: string): void {
    happened.push({
      at: Date.now(),
      process: name,
      slot,
      role: roleOf(slot),
      what,
      ...(told === undefined ? {} : { told }),
    });
    tell(`${name} ${what}${told === undefined ? '' : `: ${told}`}`);
  }

  async function start(slot: Slot): Promise<void> {
    if (running.has(slot)) return;
    const count = (counts.get(slot) ?? 0) + 1;
    counts.set(slot, count);
    const name = `${slot}.${count}`;
    const [port, opsPort] = portsOf(slot, firstPort);
    const log = openSync(join(logFolder, `${name}.log`), 'a');
    const child = spawn(process.execPath, [...heraldCommand, 'serve', '--role', roleOf(slot)], {
      env: processEnvironment({ LOG_LEVEL: 'debug', ...environment, PORT: String(port), OPS_PORT: String(opsPort) }),
      stdio: ['ignore', 'ignore', log],
    });
    closeSync(log);
    const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
    const one: Running = { name, child, exited, isFrozen: false, isEnding: false };
    running.set(slot, one);
    note(slot, name, 'started');
    void exited.then((code) => {
      if (running.get(slot) === one) running.delete(slot);
      if (!one.isEnding) note(slot, name, 'fell', `it ended by itself with code ${code}`);
    });
    void ready(slot, one, opsPort);
  }

  /** Not waited for: what comes next may hit it before. */
  async function ready(slot: Slot, one: Running, opsPort: number): Promise<void> {
    const url = `http://127.0.0.1:${opsPort}`;
    const isOver = () => one.isEnding || running.get(slot) !== one;
    const isReady = async () => !one.isFrozen && (await readinessOf(url))?.status === 'ready';
    await until(async () => isOver() || (await isReady()), { timeoutMs: Infinity, everyMs: 50 });
    if (!isOver()) note(slot, one.name, 'ready');
  }

  async function stop(slot: Slot, one: Running): Promise<void> {
    note(slot, one.name, 'stopping');
    one.isEnding = true;
    one.child.kill('SIGTERM');
    const timer = setTimeout(() => {
      note(slot, one.name, 'fell', `it didn't leave within ${leavesWithinMs} ms of SIGTERM`);
      one.child.kill('SIGKILL');
    }, leavesWithinMs);
    const code = await one.exited;
    clearTimeout(timer);
    // Until the program runs, SIGTERM ends it as any other.
    const hadNotBegun = code === null && !wasReady(one.name, happened);
    note(slot, one.name, code === 0 || hadNotBegun ? 'left' : 'fell', `code ${code}`);
  }

  async function kill(slot: Slot, one: Running): Promise<void> {
    one.isEnding = true;
    note(slot, one.name, 'killed');
    one.child.kill('SIGKILL');
    await one.exited;
  }

  async function runNow({ slot, does }: Pick<Step, 'slot' | 'does'>): Promise<void> {
    if (does === 'start') return start(slot);
    const one = running.get(slot);
    if (one === undefined) return;
    switch (does) {
      case 'stop':
        return stop(slot, one);
      case 'kill':
        return kill(slot, one);
      case 'freeze':
        one.isFrozen = true;
        one.child.kill('SIGSTOP');
        return note(slot, one.name, 'frozen');
      case 'continue':
        note(slot, one.name, 'continued');
        one.child.kill('SIGCONT');
        one.isFrozen = false;
    }
  }

  const killNow = () =>
    running.forEach((one) => {
      one.isEnding = true;
      one.child.kill('SIGKILL');
    });
  process.once('exit', killNow);

  return {
    happened,
    apiUrls: (['api-1', 'api-2'] as const).map((slot) => `http://127.0.0.1:${portsOf(slot, firstPort)[0]}`),
    running: () =>
      [...running].map(([slot, { name }]) => ({
        slot,
        process: name,
        operationsUrl: `http://127.0.0.1:${portsOf(slot, firstPort)[1]}`,
      })),
    run(step) {
      const turn = (turns.get(step.slot) ?? Promise.resolve()).then(() => runNow(step));
      turns.set(step.slot, turn);
      return turn;
    },
    async allReady(slots) {
      for (const [slot, { isFrozen }] of running) if (isFrozen) await this.run({ slot, does: 'continue' });
      await Promise.all(slots.map((slot) => this.run({ slot, does: 'start' })));
      await Promise.all(
        slots.map((slot) =>
          until(() => happened.findLast((one) => one.slot === slot)?.what === 'ready' || isBack(slot, happened), {
            timeoutMs: readyWithinMs,
            everyMs: 50,
            what: `${slot} to be ready`,
          }),
        ),
      );
    },
    async killAll() {
      killNow();
      await Promise.all([...running.values()].map(({ exited }) => exited));
      process.off('exit', killNow);
    },
  };
}

/** It was ready before it was frozen. */
function isBack(slot: Slot, happened: readonly Happening[]): boolean {
  const last = happened.findLast((one) => one.slot === slot);
  return last?.what === 'continued' && wasReady(last.process, happened);
}

function wasReady(name: string, happened: readonly Happening[]): boolean {
  return happened.some(({ process, what }) => process === name && what === 'ready');
}

/** Three slots a role, a port for its API and one for its operations each. */
export const portsCount = roles.length * 3 * 2;

function portsOf(slot: Slot, first: number): readonly [number, number] {
  const port = first + 2 * (roles.indexOf(roleOf(slot)) * 3 + Number(slot.slice(-1)) - 1);
  return [port, port + 1];
}
