// The figures of a reconciliation: what was accepted, has ended and waits, by tenant and hour of the request, and what is missing.

import type { TenantId } from '../domain/ids.ts';

export interface Figures {
  readonly accepted: number;
  /** Delivered, failed or cancelled. */
  readonly ended: number;
  readonly waiting: number;
  /** Nobody will send it: it has neither outcome nor timer, and its dispatcher has passed it over. */
  readonly lost: number;
  /** The log says something of it that a read model should have and hasn't. */
  readonly unseen: number;
}

export interface Cell extends Figures {
  readonly tenantId: TenantId;
  /** UTC ms of its beginning. */
  readonly hour: number;
}

export interface Account {
  add(of: { readonly tenantId: TenantId; readonly requestedAt: number }, figure: keyof Figures, by: number): void;
  addAll(other: Account): void;
  /** By tenant, then by hour. */
  cells(): Cell[];
  total(): Figures;
}

const hourMs = 60 * 60 * 1000;
const none: Figures = { accepted: 0, ended: 0, waiting: 0, lost: 0, unseen: 0 };

/** One row for each hour in which a tenant has sent: some 150 bytes. */
export function createAccount(): Account {
  const tenants = new Map<TenantId, Map<number, Figures>>();

  const addTo = (tenantId: TenantId, hour: number, more: Figures): void => {
    const hours = tenants.get(tenantId) ?? new Map<number, Figures>();
    tenants.set(tenantId, hours);
    hours.set(hour, plus(hours.get(hour) ?? none, more));
  };

  return {
    add({ tenantId, requestedAt }, figure, by) {
      addTo(tenantId, Math.floor(requestedAt / hourMs) * hourMs, { ...none, [figure]: by });
    },
    addAll(other) {
      for (const { tenantId, hour, ...figures } of other.cells()) addTo(tenantId, hour, figures);
    },
    cells: () =>
      [...tenants]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([tenantId, hours]) =>
          [...hours].sort(([a], [b]) => a - b).map(([hour, figures]) => ({ tenantId, hour, ...figures })),
        ),
    total() {
      let sum = none;
      for (const hours of tenants.values()) for (const figures of hours.values()) sum = plus(sum, figures);
      return sum;
    },
  };
}

function plus(a: Figures, b: Figures): Figures {
  return {
    accepted: a.accepted + b.accepted,
    ended: a.ended + b.ended,
    waiting: a.waiting + b.waiting,
    lost: a.lost + b.lost,
    unseen: a.unseen + b.unseen,
  };
}
