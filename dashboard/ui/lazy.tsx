// A page whose program is loaded when it is first shown.

import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { ApiProblem } from '../problem.ts';
import { noAnswer } from '../problem.ts';
import { ProblemNote } from './problem.tsx';

export function Lazy({ load }: { readonly load: () => Promise<ComponentType> }) {
  const [loaded, setLoaded] = useState<{ readonly Shown: ComponentType } | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const start = () => {
    setProblem(null);
    load().then(
      (Shown) => setLoaded({ Shown }),
      () => setProblem(noAnswer()),
    );
  };
  useEffect(start, [load]);
  if (problem !== null) return <ProblemNote problem={problem} onRetry={start} />;
  return loaded === null ? <p class="loading">Loading…</p> : <loaded.Shown />;
}
