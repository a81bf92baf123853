// What a run shows while it goes on: lines, and on a terminal a bar below them of how far it is.

import type { PartName } from './options.ts';
import type { Sizes } from './sizes.ts';
import { usualSizes } from './sizes.ts';

export interface Progress {
  line(text: string): void;
  /** The next part begins. */
  begins(): void;
  end(): void;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const drawEveryMs = 500;
const barMax = 40;
const eraseLine = '\r\u001B[K';

/** s that each part takes at its usual size on two cores, about. */
const usualSeconds: Readonly<Record<PartName, number>> = {
  accept: 120,
  batch: 15,
  delivery: 30,
  latency: 25,
  idle: 35,
  fold: 90,
  search: 240,
  queries: 60,
  start: 30,
  export: 180,
  bodies: 60,
  memory: 120,
  peers: 90,
};
/** Whatever it is, at the sizes of the tests. */
const shortSeconds = 5;

export interface ProgressDependencies {
  readonly output: Output;
  /** All of them, in order, as often as they are run. */
  readonly parts: readonly PartName[];
  readonly sizes: Sizes;
  readonly nowMs: () => number;
}

export function createProgress({ output, parts, sizes, nowMs }: ProgressDependencies): Progress {
  if (output.isTTY !== true) return { line: (text) => output.write(`${text}\n`), begins: () => {}, end: () => {} };
  const seconds = parts.map((part) => (sizes.folded < usualSizes.folded ? shortSeconds : usualSeconds[part]));
  const beganAt = nowMs();
  let nth = -1;
  let partBeganAt = beganAt;
  const draw = () => {
    const part = parts[nth];
    if (part === undefined) return;
    const done = shareDone(seconds, nth, (nowMs() - partBeganAt) / 1000);
    const text = ` ${part}, ${nth + 1} of ${parts.length}, ${clockText(nowMs() - beganAt)}`;
    const width = Math.max(0, Math.min(barMax, (output.columns ?? 80) - text.length - 3));
    output.write(`${eraseLine}${barText(done, width)}${text}`);
  };
  const timer = setInterval(draw, drawEveryMs);
  timer.unref();
  return {
    line(text) {
      output.write(`${eraseLine}${text}\n`);
      draw();
    },
    begins() {
      nth += 1;
      partBeganAt = nowMs();
      draw();
    },
    end() {
      clearInterval(timer);
      output.write(eraseLine);
    },
  };
}

/** Of all the seconds that are expected; a part that takes longer than it should stays short of its end. */
export function shareDone(seconds: readonly number[], nth: number, sinceSeconds: number): number {
  const total = seconds.reduce((a, b) => a + b, 0);
  const before = seconds.slice(0, nth).reduce((a, b) => a + b, 0);
  const expected = seconds[nth] ?? 0;
  return total === 0 ? 0 : (before + Math.min(sinceSeconds, expected * 0.99)) / total;
}

export function barText(share: number, width: number): string {
  const full = Math.round(share * width);
  return `[${'#'.repeat(full)}${'.'.repeat(width - full)}]`;
}

function clockText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
