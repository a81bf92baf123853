// Turns for work that holds memory: of a tenant one at a time, of all tenants at most so many.

import type { TenantId } from '../domain/ids.ts';

export type TakeTurn = (tenantId: TenantId, work: () => Promise<void>) => Promise<void>;

/** The call rejects as the work does. */
export function createCatchUpTurns(atOnceMax: number): TakeTurn {
  const lastOf = new Map<TenantId, Promise<void>>();
  const waiting: (() => void)[] = [];
  let running = 0;

  const enter = async (): Promise<void> => {
    if (running >= atOnceMax) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
  };
  /** The place goes to the next one, if there is one. */
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  };

  return (tenantId, work) => {
    const turn = (lastOf.get(tenantId) ?? Promise.resolve()).then(async () => {
      await enter();
      try {
        await work();
      } finally {
        leave();
      }
    });
    const over = turn
      .catch(() => {})
      .then(() => {
        if (lastOf.get(tenantId) === over) lastOf.delete(tenantId);
      });
    lastOf.set(tenantId, over);
    return turn;
  };
}
