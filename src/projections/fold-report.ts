// What the loops of a thread are at: since when they have something in hand that isn't folded, and what fails. Told to whoever shows it, in another thread.

import type { Clock } from '../ports/clock.ts';

/** Plain data, to be posted. */
export interface FoldState {
  readonly readModel: string;
  /** When the log took the oldest event in hand, UTC ms; null: there is none. */
  readonly oldestInHandAt: number | null;
  /** What has failed longest of what fails now; null: nothing does. */
  readonly failing: Failing | null;
}

export interface Failing {
  readonly partition: number;
  readonly step: string;
  readonly reason: string;
  /** UTC ms of its first failure since it worked. */
  readonly since: number;
}

export interface FoldReport {
  /** @param since when the log took the oldest event in hand, UTC ms */
  inHand(readModel: string, partition: number, since: number): void;
  folded(readModel: string, partition: number): void;
  failed(readModel: string, partition: number, step: string, error: unknown): void;
  /** Nothing is the matter with this step any more. */
  worked(readModel: string, partition: number, step: string): void;
  /** The number is somebody else's from now on. */
  ended(readModel: string, partition: number): void;
  states(): readonly FoldState[];
}

interface OfModel {
  readonly inHandAt: Map<number, number>;
  /** By number and step. */
  readonly failing: Map<string, Failing>;
}

export function createFoldReport(clock: Clock): FoldReport {
  const models = new Map<string, OfModel>();

  const modelOf = (readModel: string): OfModel => {
    const known = models.get(readModel) ?? { inHandAt: new Map<number, number>(), failing: new Map<string, Failing>() };
    models.set(readModel, known);
    return known;
  };

  return {
    inHand: (readModel, partition, since) => void modelOf(readModel).inHandAt.set(partition, since),
    folded: (readModel, partition) => void modelOf(readModel).inHandAt.delete(partition),
    failed(readModel, partition, step, error) {
      const { failing } = modelOf(readModel);
      const key = `${partition} ${step}`;
      const reason = error instanceof Error ? error.message : String(error);
      failing.set(key, { partition, step, reason, since: failing.get(key)?.since ?? clock.now() });
    },
    worked: (readModel, partition, step) => void models.get(readModel)?.failing.delete(`${partition} ${step}`),
    ended(readModel, partition) {
      const of = models.get(readModel);
      of?.inHandAt.delete(partition);
      for (const [key, failing] of of?.failing ?? []) if (failing.partition === partition) of?.failing.delete(key);
    },
    states: () =>
      [...models].map(([readModel, { inHandAt, failing }]) => ({
        readModel,
        oldestInHandAt: inHandAt.size === 0 ? null : Math.min(...inHandAt.values()),
        failing: [...failing.values()].reduce<Failing | null>(
          (oldest, one) => (oldest === null || one.since < oldest.since ? one : oldest),
          null,
        ),
      })),
  };
}
