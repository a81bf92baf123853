// What is done with those that are chosen: one call each, a few at once, at the pace that the API asks for.

import type { Signal } from '@preact/signals';
import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { count } from '../../format.ts';
import { ApiProblem, shownProblem } from '../../problem.ts';
import { say } from '../../ui/toasts.tsx';
import type { Row, Rows } from './rows.ts';

interface Props {
  readonly rows: Rows;
  readonly chosen: Signal<ReadonlySet<string>>;
}

interface Progress {
  readonly done: number;
  readonly refused: number;
  readonly of: number;
  readonly lastRefusal: string | null;
}

type Act = '/notifications/{id}/retry' | '/notifications/{id}/cancel';
const atOnce = 4;

export function Selection({ rows, chosen }: Props) {
  const [progress, setProgress] = useState<Progress | null>(null);
  const those = rows.rows.value.filter(({ id }) => chosen.value.has(id));
  const failed = those.filter(({ status }) => status === 'FAILED');
  const waiting = those.filter(({ status }) => status === 'SCHEDULED' || status === 'RETRYING');
  const isBusy = progress !== null && progress.done + progress.refused < progress.of;
  const start = (act: Act, which: readonly Row[]) => {
    void doAll(act, which, setProgress).then(({ done, refused, lastRefusal }) => {
      say(`${count(done)} done${refused === 0 ? '.' : `, ${count(refused)} refused: ${lastRefusal ?? ''}`}`);
      chosen.value = new Set();
      setProgress(null);
    });
  };
  return (
    <>
      <span class="note" aria-live="polite">
        {isBusy
          ? `${count(progress.done + progress.refused)} of ${count(progress.of)}…`
          : those.length === 0
            ? 'None chosen'
            : `${count(those.length)} chosen`}
      </span>
      <button
        type="button"
        disabled={isBusy || failed.length === 0}
        onClick={() => start('/notifications/{id}/retry', failed)}
      >
        Retry {failed.length > 0 && count(failed.length)}
      </button>
      <button
        type="button"
        disabled={isBusy || waiting.length === 0}
        onClick={() => start('/notifications/{id}/cancel', waiting)}
      >
        Cancel {waiting.length > 0 && count(waiting.length)}
      </button>
    </>
  );
}

async function doAll(act: Act, which: readonly Row[], tell: (progress: Progress) => void): Promise<Progress> {
  let progress: Progress = { done: 0, refused: 0, of: which.length, lastRefusal: null };
  const queue = [...which];
  const work = async () => {
    for (let row = queue.shift(); row !== undefined; row = queue.shift()) {
      const refusal = await doOne(act, row.id);
      progress =
        refusal === null
          ? { ...progress, done: progress.done + 1 }
          : { ...progress, refused: progress.refused + 1, lastRefusal: refusal };
      tell(progress);
    }
  };
  tell(progress);
  await Promise.all(Array.from({ length: atOnce }, work));
  return progress;
}

/** Why it was refused; null: it was done. */
async function doOne(act: Act, id: string): Promise<string | null> {
  for (;;) {
    try {
      await call('post', act, { params: { id } });
      return null;
    } catch (failure) {
      const seconds = failure instanceof ApiProblem && failure.status === 429 ? failure.retryAfterSeconds : null;
      if (seconds === null) return shownProblem(failure)?.message ?? '';
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  }
}
