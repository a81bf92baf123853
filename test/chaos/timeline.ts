// What happened to the processes, and what may be excused by it.

import type { Role, Slot } from './plan.ts';

export interface Happening {
  /** UTC ms. */
  readonly at: number;
  /** `dispatcher-1.3`: the third process in that place. */
  readonly process: string;
  readonly slot: Slot;
  readonly role: Role;
  /** `left`: it ended after SIGTERM; `fell`: it ended by itself, or didn't end and was killed for it. */
  readonly what: 'started' | 'ready' | 'stopping' | 'left' | 'fell' | 'killed' | 'frozen' | 'continued';
  readonly told?: string;
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What the death or freeze of a member costs its groups: the session of 10 s, and at most 5 s for the others to finish what they have in flight. */
const takenOverMs = 15_000;

/**
 * When work of these roles could not be expected to move: nobody of a role could work, or a member had been killed or
 * frozen and its session ran. Ascending, not overlapping.
 */
export function excusedSpans(happened: readonly Happening[], of: readonly Role[], until: number): readonly Span[] {
  const spans = of.flatMap((role) => {
    const own = happened.filter((one) => one.role === role);
    const ends = own.filter(({ what }) => what === 'killed' || what === 'frozen' || what === 'fell');
    return [...ends.map(({ at }) => ({ from: at, to: at + takenOverMs })), ...withoutAny(own, until)];
  });
  return merged(spans.filter(({ from, to }) => to > from));
}

/** Of `span`, what none of the (merged) others covers, in ms. */
export function uncoveredMs(span: Span, by: readonly Span[]): number {
  const covered = by.reduce(
    (sum, { from, to }) => sum + Math.max(0, Math.min(to, span.to) - Math.max(from, span.from)),
    0,
  );
  return Math.max(0, span.to - span.from) - covered;
}

/** When no process of a role was up: ready, not stopping, not frozen. */
function withoutAny(own: readonly Happening[], until: number): Span[] {
  const up = new Set<string>();
  const ready = new Set<string>();
  const spans: Span[] = [];
  let from: number | null = own[0]?.at ?? null;
  for (const { at, process, what } of own) {
    if (what === 'ready') ready.add(process);
    if (what === 'ready' || (what === 'continued' && ready.has(process))) up.add(process);
    else if (what !== 'started') up.delete(process);
    if (up.size === 0) from ??= at;
    else if (from !== null) {
      spans.push({ from, to: at });
      from = null;
    }
  }
  return from === null ? spans : [...spans, { from, to: until }];
}

function merged(spans: readonly Span[]): readonly Span[] {
  const out: { from: number; to: number }[] = [];
  for (const { from, to } of spans.toSorted((one, other) => one.from - other.from)) {
    const last = out.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else out.push({ from, to });
  }
  return out;
}
