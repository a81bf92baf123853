// One process: its clock, its connections, and what may happen to it. It is frozen, cut off and killed from outside, between any two of its steps.

import { uuidV7Bytes } from '../../src/domain/ids.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Random } from '../chaos/random.ts';
import type { Trace } from './trace.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface Machine {
  readonly name: string;
  readonly clock: Clock;
  readonly isAlive: boolean;
  readonly isFrozen: boolean;
  /** Something elsewhere is asked; the question arrives even when the machine dies meanwhile, the answer doesn't. */
  ask<T>(serve: () => T | Promise<T>): Promise<T>;
  /** As by kill -9. */
  kill(): void;
  /** As by SIGSTOP; it goes on after so long, with all that has come for it meanwhile. */
  freeze(ms: number): void;
  /** For so long questions or their answers are lost, one in so many. */
  cut(ms: number, oneIn: number): void;
  /** For so long whatever it asks takes up to `byMs` longer, each way. */
  slow(ms: number, byMs: number): void;
}

/** UTC ms at which every world begins. */
export const worldBegin = Date.UTC(2026, 10, 21, 12);

/** How long a connection keeps its caller waiting before it is given up. */
const lostAfterMs = 700;

export function createMachine(by: {
  readonly name: string;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  /** Of its wall clock, which is set while it runs: how far that is ahead, in ms. Absent: it is right. */
  readonly aheadMs?: () => number;
}): Machine {
  const { name, time, random, trace, aheadMs = () => 0 } = by;
  const bornAt = time.now;
  let isAlive = true;
  let frozenUntil = -Infinity;
  let cutUntil = -Infinity;
  let lostOneIn = 1;
  let slowUntil = -Infinity;
  let slowBy = 0;

  const wallMs = () => worldBegin + Math.floor(time.now) + aheadMs();

  const isFrozen = () => time.now < frozenUntil;

  /** What has come for it is taken in its turn, unless it is dead. */
  function deliver(run: () => void): void {
    if (!isAlive) return;
    if (isFrozen()) time.after(frozenUntil - time.now, () => deliver(run));
    else run();
  }

  const hopMs = () => 0.05 + random.next() + (time.now < slowUntil ? random.next() * slowBy : 0);
  const isLost = () => time.now < cutUntil && random.between(1, lostOneIn) === 1;

  function ask<T>(serve: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!isAlive) return;
      const lose = () =>
        void time.after(random.next() * lostAfterMs, () => deliver(() => reject(new Error('the connection was lost'))));
      const answer = (give: () => void) => {
        if (isLost()) lose();
        else time.after(hopMs(), () => deliver(give));
      };
      time.after(hopMs(), () => {
        if (isLost()) {
          lose();
          return;
        }
        void served(serve).then(
          (value) => answer(() => resolve(value)),
          (err: unknown) => answer(() => reject(err)),
        );
      });
    });
  }

  const clock: Clock = {
    now: wallMs,
    monotonic: () => time.now - bornAt,
    random: random.next,
    randomBytes: (length) => randomBytes(random, length),
    uuidV7: () => uuidV7Bytes(wallMs(), randomBytes(random, 10)),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (!isAlive) return;
        if (signal?.aborted === true) return resolve();
        const end = () => {
          pending.cancel();
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const pending = time.after(Math.max(ms, 0) + random.next(), () => deliver(end));
        signal?.addEventListener('abort', end);
      }),
  };

  return {
    name,
    clock,
    get isAlive() {
      return isAlive;
    },
    get isFrozen() {
      return isFrozen();
    },
    ask,
    kill() {
      trace(name, 'is killed');
      isAlive = false;
    },
    freeze(ms) {
      trace(name, 'is frozen', ms);
      frozenUntil = Math.max(frozenUntil, time.now + ms);
    },
    cut(ms, oneIn) {
      trace(name, 'is cut off', ms, oneIn);
      cutUntil = time.now + ms;
      lostOneIn = oneIn;
    },
    slow(ms, byMs) {
      trace(name, 'is slow', ms, byMs);
      slowUntil = time.now + ms;
      slowBy = byMs;
    },
  };
}

async function served<T>(serve: () => T | Promise<T>): Promise<T> {
  return serve();
}

function randomBytes(random: Random, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = random.between(0, 255);
  return bytes;
}
