// How large and how long each part is: as measured, or short, where all parts run in a minute and their figures say nothing (for the tests).

import type { LoadEnd } from './protocol.ts';

export interface Sizes {
  readonly tenants: number;
  readonly accept: { readonly rounds: number; readonly round: LoadEnd; readonly warmUp: LoadEnd };
  readonly batch: { readonly items: number; readonly rounds: number };
  readonly webhooks: number;
  readonly latency: { readonly warmUpMs: number; readonly durationMs: number };
  readonly idle: { readonly restMs: number; readonly measuredMs: number };
  /** Notifications that the fold begins with nothing of. */
  readonly folded: number;
  /** Notifications that are searched, asked for and started with. */
  readonly stored: number;
  /** How often each query is asked. */
  readonly rounds: number;
  /** How long to wait at most before that for a machine on which nothing else runs. */
  readonly quietWithinMs: number;
  readonly starts: number;
  /** On bodies of one size. */
  readonly bodiesMs: number;
  readonly crowd: { readonly connections: number; readonly durationMs: number };
}

export const usualSizes: Sizes = {
  tenants: 20,
  accept: { rounds: 3, round: { kind: 'after', durationMs: 5000 }, warmUp: { kind: 'after', durationMs: 2000 } },
  batch: { items: 10_000, rounds: 20 },
  webhooks: 20_000,
  latency: { warmUpMs: 3000, durationMs: 20_000 },
  idle: { restMs: 5000, measuredMs: 20_000 },
  folded: 200_000,
  stored: 1_000_000,
  rounds: 500,
  quietWithinMs: 180_000,
  starts: 5,
  bodiesMs: 20_000,
  crowd: { connections: 4000, durationMs: 60_000 },
};

export const shortSizes: Sizes = {
  tenants: 2,
  // Counted: however slow the machine is, 500 requests take some ticks of 10 ms of its processor.
  accept: { rounds: 1, round: { kind: 'count', requests: 500 }, warmUp: { kind: 'count', requests: 100 } },
  batch: { items: 500, rounds: 1 },
  webhooks: 200,
  latency: { warmUpMs: 200, durationMs: 1000 },
  idle: { restMs: 200, measuredMs: 1000 },
  folded: 2000,
  stored: 10_000,
  rounds: 3,
  quietWithinMs: 0,
  starts: 1,
  bodiesMs: 1000,
  crowd: { connections: 40, durationMs: 2000 },
};
