// One write of this process after another: those of one process never conflict, so only as many contend as there are processes. Tenants take turns, so that
// whoever changes much waits for itself.

import { MongoError, MongoServerError } from 'mongodb';

import type { TenantId } from '../../../domain/ids.ts';

export type TakeTurn = <T>(tenantId: TenantId, write: () => Promise<T>) => Promise<T>;

/** Of all tenants. At some 6 ms each the last of them waits for 3 s. */
const waitingMax = 500;
/** Of one tenant: a tenth, so that ten at their worst leave no other without a place. */
const perTenantMax = waitingMax / 10;

interface Waiting {
  begin(): void;
  fail(error: unknown): void;
}

/** A turn rejects at once when too many wait, and with those that wait when the server is found to be away. */
export function createTurns(): TakeTurn {
  /** By tenant, the one whose turn is next first. */
  const waiting = new Map<TenantId, Waiting[]>();
  let count = 0;
  let isBusy = false;

  function myTurn(tenantId: TenantId): Promise<void> {
    const own = waiting.get(tenantId) ?? [];
    if (own.length >= perTenantMax) throw new Error(`${perTenantMax} changes of this tenant's settings wait already`);
    if (count >= waitingMax) throw new Error(`${waitingMax} changes of settings wait already`);
    return new Promise((begin, fail) => {
      own.push({ begin, fail });
      waiting.set(tenantId, own);
      count++;
    });
  }

  function next(): Waiting | undefined {
    const [first] = waiting;
    if (first === undefined) return undefined;
    const [tenantId, own] = first;
    const one = own.shift();
    waiting.delete(tenantId);
    if (own.length > 0) waiting.set(tenantId, own);
    count--;
    return one;
  }

  function failAll(error: unknown): void {
    const all = [...waiting.values()].flat();
    waiting.clear();
    count = 0;
    for (const { fail } of all) fail(error);
  }

  return async (tenantId, write) => {
    if (isBusy) await myTurn(tenantId);
    isBusy = true;
    try {
      return await write();
    } catch (error) {
      if (isAway(error)) failAll(error);
      throw error;
    } finally {
      const one = next();
      if (one === undefined) isBusy = false;
      else one.begin();
    }
  };
}

/** The driver's own errors are about reaching the server. */
function isAway(error: unknown): boolean {
  return error instanceof MongoError && !(error instanceof MongoServerError);
}
