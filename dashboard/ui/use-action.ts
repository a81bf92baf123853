// Something that somebody does: under way once at a time, said when it is done, its refusal kept for the form that it belongs to.

import { useState } from 'preact/hooks';

import type { ApiProblem } from '../problem.ts';
import { shownProblem } from '../problem.ts';
import { sayProblem } from './toasts.tsx';

export interface Action {
  readonly isBusy: boolean;
  readonly problem: ApiProblem | null;
  /** What the refusal says of a field; null: nothing. */
  fieldProblem(path: string): string | null;
  run(act: () => Promise<void>): void;
}

/** @param shows where a refusal is said: beside the form, or at the edge of the page */
export function useAction(shows: 'form' | 'toast'): Action {
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  return {
    isBusy,
    problem,
    fieldProblem: (path) => problem?.details.find((detail) => detail.path === path)?.message ?? null,
    run(act) {
      if (isBusy) return;
      setIsBusy(true);
      setProblem(null);
      act()
        .catch((failure: unknown) => (shows === 'form' ? setProblem(shownProblem(failure)) : sayProblem(failure)))
        .finally(() => setIsBusy(false));
    },
  };
}
