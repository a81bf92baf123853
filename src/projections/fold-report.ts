// What the loops of a thread are at: since when they have something in hand that isn't folded, noted at once, and what fails, for whoever asks.

import type { Clock } from '../ports/clock.ts';

/** Plain data, to be posted. */
export interface FoldState {
  readonly readModel: string;
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

/** Told whenever it changes: when the log took the oldest event in hand of a read model, UTC ms; null: there is none. */
export type NoteOldest = (readModel: string, oldestInHandAt: number | null) => void;

interface OfModel {
  readonly inHandAt: Map<number, number>;
  /** By number and step. */
  readonly failing: Map<string, Failing>;
}

export function createFoldReport(clock: Pick<Clock, 'now'>, noteOldest: NoteOldest): FoldReport {
  const models = new Map<string, OfModel>();

  const modelOf = (readModel: string): OfModel => {
    const known = models.get(readModel) ?? { inHandAt: new Map<number, number>(), failing: new Map<string, Failing>() };
    models.set(readModel, known);
    return known;
  };

  const noteOldestOf = (readModel: string): void => {
    const since = modelOf(readModel).inHandAt.values();
    noteOldest(
      readModel,
      [...since].reduce<number | null>((oldest, at) => Math.min(oldest ?? at, at), null),
    );
  };
  const notInHand = (readModel: string, partition: number): void => {
    if (modelOf(readModel).inHandAt.delete(partition)) noteOldestOf(readModel);
  };

  return {
    inHand(readModel, partition, since) {
      modelOf(readModel).inHandAt.set(partition, since);
      noteOldestOf(readModel);
    },
    folded: notInHand,
    failed(readModel, partition, step, error) {
      const { failing } = modelOf(readModel);
      const key = `${partition} ${step}`;
      const reason = error instanceof Error ? error.message : String(error);
      failing.set(key, { partition, step, reason, since: failing.get(key)?.since ?? clock.now() });
    },
    worked: (readModel, partition, step) => void models.get(readModel)?.failing.delete(`${partition} ${step}`),
    ended(readModel, partition) {
      notInHand(readModel, partition);
      const of = models.get(readModel);
      for (const [key, failing] of of?.failing ?? []) if (failing.partition === partition) of?.failing.delete(key);
    },
    states: () =>
      [...models].map(([readModel, { failing }]) => ({
        readModel,
        failing: [...failing.values()].reduce<Failing | null>(
          (oldest, one) => (oldest === null || one.since < oldest.since ? one : oldest),
          null,
        ),
      })),
  };
}
