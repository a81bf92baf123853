// What readiness asks: down until the engine behind a name is open, so that a start that waits says what it waits for.

export interface Health {
  /** Each asked by name; needed ones make the process unready while they are down. */
  readonly needed: Readonly<Record<string, () => Promise<boolean>>>;
  readonly optional: Readonly<Record<string, () => Promise<boolean>>>;
  need(name: NeededEngine, isUp: () => Promise<boolean>): void;
  like(name: string, isUp: () => Promise<boolean>): void;
}

export type NeededEngine = 'log' | 'readModels' | 'settings';

export function createHealth(): Health {
  const isDown = () => Promise.resolve(false);
  const needed: Record<string, () => Promise<boolean>> = { log: isDown, readModels: isDown, settings: isDown };
  const optional: Record<string, () => Promise<boolean>> = {};
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
