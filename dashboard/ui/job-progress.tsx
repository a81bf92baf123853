// How far a job is, until it is over; it can be stopped.

import { useEffect, useState } from 'preact/hooks';

import { call } from '../api.ts';
import { count, sentenceCase } from '../format.ts';
import type { Job } from '../wire.ts';
import { ProblemNote } from './problem.tsx';
import { useAction } from './use-action.ts';
import { useAnswer } from './use-answer.ts';

const lookEveryMs = 1000;

/** @param does what it has done with so many: `sent again` */
export function JobProgress({ id, does }: { readonly id: string; readonly does: string }) {
  const [looks, setLooks] = useState(0);
  const {
    value: job,
    problem,
    reload,
  } = useAnswer((signal) => call('get', '/jobs/{id}', { params: { id }, signal }), id, looks);
  const isOver = job !== null && job.endedAt !== null;
  useEffect(() => {
    if (isOver) return undefined;
    const timer = setInterval(() => setLooks((former) => former + 1), lookEveryMs);
    return () => clearInterval(timer);
  }, [isOver]);
  const action = useAction('toast');
  if (job === null)
    return problem === null ? <p class="loading">…</p> : <ProblemNote problem={problem} onRetry={reload} />;
  return (
    <div class="stack">
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      <p aria-live="polite">
        {sentenceCase(job.state)}: {progressOf(job, does)}
      </p>
      <progress max={Math.max(1, job.total)} value={job.done + job.skipped + job.failed} aria-label="How far it is" />
      {!isOver && (
        <div class="actions">
          <button
            type="button"
            disabled={action.isBusy}
            onClick={() => action.run(async () => void (await call('delete', '/jobs/{id}', { params: { id } })))}
          >
            Stop it
          </button>
        </div>
      )}
    </div>
  );
}

function progressOf({ done, total, skipped, failed }: Job, does: string): string {
  const others = [
    skipped === 0 ? [] : [`${count(skipped)} skipped`],
    failed === 0 ? [] : [`${count(failed)} undecided`],
  ].flat();
  return [`${count(done)} of ${count(total)} ${does}`, ...others].join(', ');
}
