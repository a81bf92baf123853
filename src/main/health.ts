// What readiness asks: down until the engine behind a name is open, so that a start that waits says what it waits for.

import type { UpOrWhy } from '../api/operations.ts';

export interface Health {
  /** Each asked by name; needed ones make the process unready while they are down. */
  readonly needed: Readonly<Record<string, () => Promise<UpOrWhy>>>;
  readonly optional: Readonly<Record<string, () => Promise<UpOrWhy>>>;
  need(name: NeededEngine, isUp: () => Promise<UpOrWhy>): void;
  like(name: string, isUp: () => Promise<UpOrWhy>): void;
}

export type NeededEngine = 'log' | 'readModels' | 'settings' | 'progress';

export function createHealth(): Health {
  const isDown = () => Promise.resolve<UpOrWhy>(false);
  const needed: Record<string, () => Promise<UpOrWhy>> = {
    log: isDown,
    readModels: isDown,
    settings: isDown,
    progress: isDown,
  };
  const optional: Record<string, () => Promise<UpOrWhy>> = {};
  return {
    needed,
    optional,
    need(name, isUp) {
      needed[name] = isUp;
    },
    like(name, isUp) {
      optional[name] = isUp;
    },
  };
}
