// What is done to which process and when: all of it chosen from the seed before anything starts.

import { assertNever } from '../../src/domain/assert-never.ts';
import type { Random } from './random.ts';

export const roles = ['api', 'dispatcher', 'projector', 'scheduler'] as const;
export type Role = (typeof roles)[number];

/** The place of a process: two of each role run all the time but for what is done to them, the third joins for a while. */
export type Slot = `${Role}-${1 | 2 | 3}`;

export interface Step {
  /** Since the beginning. */
  readonly atMs: number;
  readonly slot: Slot;
  /** stop is SIGTERM, kill -9, freeze SIGSTOP and continue SIGCONT. */
  readonly does: 'start' | 'stop' | 'kill' | 'freeze' | 'continue';
}

export interface PlanOptions {
  readonly forMs: number;
  readonly everyMs: number;
  readonly frozenMsMin: number;
  readonly frozenMsMax: number;
}

/** Between a process's stop or kill and its next start. */
const awayMsMax = 12_000;
/** How long one that joins stays. */
const joinedMsMin = 8_000;
const joinedMsMax = 30_000;
/** A process is left alone for so long after it was started or continued: it may be hit before it is ready. */
const restMs = 3_000;

const deeds = ['join', 'stop', 'kill', 'freeze'] as const;
type Deed = (typeof deeds)[number];

export const regularSlots: readonly Slot[] = roles.flatMap((role): Slot[] => [`${role}-1`, `${role}-2`]);

export function roleOf(slot: Slot): Role {
  return slot.slice(0, -2) as Role;
}

/** Every `everyMs` a deed to a role: both by turns in random order, so that a short run has some of each. */
export function makePlan(random: Random, options: PlanOptions): readonly Step[] {
  const nextDeed = random.deck(deeds);
  const nextRole = random.deck(roles);
  const freeAt = new Map<Slot, number>();
  const steps: Step[] = [];
  for (let atMs = options.everyMs; atMs < options.forMs; atMs += options.everyMs) {
    const deed = nextDeed();
    const first = nextRole();
    const slots = [first, ...roles]
      .map((role) => slotsFor(deed, role).filter((slot) => (freeAt.get(slot) ?? 0) <= atMs))
      .find((free) => free.length > 0);
    if (slots === undefined) continue;
    const slot = random.of(slots);
    const lasts = lastsMs(deed, random, options);
    steps.push(...stepsOf(deed, slot, atMs, lasts));
    freeAt.set(slot, atMs + lasts + restMs);
  }
  return steps.toSorted((one, other) => one.atMs - other.atMs);
}

function slotsFor(deed: Deed, role: Role): readonly Slot[] {
  return deed === 'join' ? [`${role}-3`] : [`${role}-1`, `${role}-2`];
}

function lastsMs(deed: Deed, random: Random, options: PlanOptions): number {
  if (deed === 'freeze') return random.between(options.frozenMsMin, options.frozenMsMax);
  if (deed === 'join') return random.between(joinedMsMin, joinedMsMax);
  return random.between(0, awayMsMax);
}

function stepsOf(deed: Deed, slot: Slot, atMs: number, lasts: number): readonly Step[] {
  const over = atMs + lasts;
  switch (deed) {
    case 'join':
      return [
        { atMs, slot, does: 'start' },
        { atMs: over, slot, does: 'stop' },
      ];
    case 'freeze':
      return [
        { atMs, slot, does: 'freeze' },
        { atMs: over, slot, does: 'continue' },
      ];
    case 'stop':
    case 'kill':
      return [
        { atMs, slot, does: deed },
        { atMs: over, slot, does: 'start' },
      ];
    default:
      return assertNever(deed);
  }
}
