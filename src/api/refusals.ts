// What was refused of a tenant lately: `GET /refusals`, and the code and fields of a request's log line. Of this process, in memory.

import type { ErrorCode, ErrorDetail } from '../domain/errors.ts';
import type { TenantId } from '../domain/ids.ts';

export interface Refusal {
  /** UTC ms */
  readonly at: number;
  /** `POST /notify`: the route's pattern, no ids. */
  readonly route: string;
  readonly status: number;
  readonly code: ErrorCode;
  /** Paths of what is wrong, no values. */
  readonly fields: readonly string[];
  readonly requestId: string;
}

export interface Refusals {
  note(tenantId: TenantId, refusal: Refusal): void;
  /** Newest first. */
  of(tenantId: TenantId): readonly Refusal[];
}

export const refusalsMax = 100;
/** With ten fields of 64 characters, an id and a route some 1 KiB each: 10 MiB for all tenants, of which one has a hundredth at most. */
const inAllMax = 10_000;
const fieldsMax = 10;
const fieldMax = 64;

export function createRefusals(limits: { readonly inAllMax?: number } = {}): Refusals {
  const max = limits.inAllMax ?? inAllMax;
  /** The tenant of the latest refusal last. */
  const byTenant = new Map<TenantId, Refusal[]>();
  let inAll = 0;

  return {
    note(tenantId, refusal) {
      const own = byTenant.get(tenantId) ?? [];
      byTenant.delete(tenantId);
      byTenant.set(tenantId, own);
      own.push(refusal);
      inAll++;
      if (own.length > refusalsMax) {
        own.shift();
        inAll--;
      }
      if (inAll <= max) return;
      for (const [quietest, refusals] of byTenant) {
        byTenant.delete(quietest);
        inAll -= refusals.length;
        return;
      }
    },
    of: (tenantId) => (byTenant.get(tenantId) ?? []).toReversed(),
  };
}

/** The first few, each cut: a path may hold names that the caller chose. */
export function fieldsOf(details: readonly ErrorDetail[]): readonly string[] {
  const paths = details.slice(0, fieldsMax).map(({ path }) => path.slice(0, fieldMax));
  return [...new Set(paths)];
}
