// What happened in a world, line by line, for whoever replays a seed; costs nothing when nobody does.

import type { VirtualTime } from './virtual-time.ts';

export type Trace = (who: string, what: string, ...more: readonly unknown[]) => void;

export function createTrace(time: Pick<VirtualTime, 'now'>, print: ((line: string) => void) | null): Trace {
  if (print === null) return () => {};
  return (who, what, ...more) => {
    const rest = more.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
    print(`${time.now.toFixed(1).padStart(9)} ${who.padEnd(6)} ${[what, ...rest].join(' ')}`);
  };
}
