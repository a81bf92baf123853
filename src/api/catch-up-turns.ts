// Turns for work that holds memory and the thread: of a tenant one at a time with rests between them, of all tenants at most so many.

import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';

/** @param work answers how many ms it took, without its waits: who waits for another tenant's turn must not rest for it. The call rejects as the work does. */
export type TakeTurn = (tenantId: TenantId, work: () => Promise<number>) => Promise<void>;

/** A tenant rests three times as long as its work took, so that it has a quarter of the thread at most; others don't wait for it. */
const restsPerWork = 3;
/** Work that took less is followed by no rest: a live look at an inbox takes a ms, and the next one may be for the item that somebody waits for. */
const restlessMs = 5;
/** What took longer was others' work for the greater part. */
const restMaxMs = 3000;

export function createCatchUpTurns(atOnceMax: number, clock: Pick<Clock, 'sleep'>): TakeTurn {
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
  const rest = async (tookMs: number): Promise<void> => {
    if (tookMs >= restlessMs) await clock.sleep(Math.min(restsPerWork * tookMs, restMaxMs));
  };

  return (tenantId, work) => {
    let tookMs = 0;
    const turn = (lastOf.get(tenantId) ?? Promise.resolve()).then(async () => {
      await enter();
      try {
        tookMs = await work();
      } finally {
        leave();
      }
    });
    const over = turn
      .catch(() => {})
      .then(() => rest(tookMs))
      .then(() => {
        if (lastOf.get(tenantId) === over) lastOf.delete(tenantId);
      });
    lastOf.set(tenantId, over);
    return turn;
  };
}
