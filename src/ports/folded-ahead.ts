// What of a partition number is folded before its turn: of those who don't fill it, past what others wait for there.
//
//   position ──────┐             ahead ──────┐
//   all tenants    │  all but those behind   │  nobody

import type { TenantId } from '../domain/ids.ts';
import type { Topic } from '../domain/topics.ts';

export interface FoldedAhead {
  /** By topic: everything below is folded, of all tenants but those that are behind. What isn't named here, and what is below the position, is as that says. */
  readonly offsets: ReadonlyMap<Topic, number>;
  /** Of them everything below the position is folded, as ever, and more may be. */
  readonly behind: ReadonlySet<TenantId>;
}

/** Below which everything of a tenant is folded, by topic. */
export function foldedBelow(
  position: ReadonlyMap<Topic, number>,
  ahead: FoldedAhead | null,
  tenantId: TenantId,
): ReadonlyMap<Topic, number> {
  return ahead === null || ahead.behind.has(tenantId) ? position : furthest(position, ahead);
}

/** Below which anything is folded. */
export function furthest(position: ReadonlyMap<Topic, number>, { offsets }: FoldedAhead): ReadonlyMap<Topic, number> {
  const below = new Map(position);
  for (const [topic, offset] of offsets) below.set(topic, Math.max(offset, position.get(topic) ?? 0));
  return below;
}

/** Whether the position has come to where somebody was ahead. */
export function isPassed({ offsets }: FoldedAhead, position: ReadonlyMap<Topic, number>): boolean {
  return [...offsets].every(([topic, offset]) => (position.get(topic) ?? 0) >= offset);
}

/** As stores keep it. */
export function foldedAheadText({ offsets, behind }: FoldedAhead): string {
  return JSON.stringify({ offsets: Object.fromEntries(offsets), behind: [...behind] });
}

export function foldedAheadOf(text: string): FoldedAhead {
  const { offsets, behind } = JSON.parse(text) as { offsets: Record<string, number>; behind: TenantId[] };
  return { offsets: new Map(Object.entries(offsets)), behind: new Set(behind) };
}
