// What a page shows of the API: asked for when it is shown, again when something says so, the former answer kept meanwhile.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import type { ApiProblem } from '../problem.ts';
import { shownProblem } from '../problem.ts';
import { returns } from '../reachable.ts';

export interface Answered<T> {
  readonly value: T | null;
  readonly problem: ApiProblem | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/**
 * @param key what it depends on: another one asks anew and shows nothing of the former
 * @param rounds another one asks anew, too, and shows the former answer meanwhile; not before what is under way is answered, however slowly that is
 */
export function useAnswer<T>(
  load: (signal: AbortSignal) => Promise<T>,
  key: string,
  rounds: number | string = 0,
): Answered<T> {
  const [state, setState] = useState<{ key: string; value: T | null; problem: ApiProblem | null; isLoading: boolean }>({
    key,
    value: null,
    problem: null,
    isLoading: true,
  });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((former) => former + 1), []);
  const returned = returns.value;
  const askedIn = useRef(rounds);
  useEffect(() => {
    askedIn.current = rounds;
    const ended = new AbortController();
    setState((former) => ({ ...former, key, value: former.key === key ? former.value : null, isLoading: true }));
    load(ended.signal).then(
      (value) => {
        if (!ended.signal.aborted) setState({ key, value, problem: null, isLoading: false });
      },
      (failure: unknown) => {
        const problem = shownProblem(failure);
        if (!ended.signal.aborted) setState((former) => ({ ...former, problem, isLoading: false }));
      },
    );
    return () => ended.abort();
    // What `load` closes over is named by `key`.
  }, [key, round, returned]);
  useEffect(() => {
    if (!state.isLoading && askedIn.current !== rounds) reload();
  }, [rounds, state.isLoading, reload]);
  return { ...state, reload };
}
