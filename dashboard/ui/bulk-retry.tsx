// Sends again whatever of a filter has failed: first how many there are, then as a job that can be watched and stopped.

import { useEffect, useState } from 'preact/hooks';

import { call } from '../api.ts';
import { count, sentenceCase } from '../format.ts';
import type { Body, Job } from '../wire.ts';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';
import { ProblemNote } from './problem.tsx';
import { useAction } from './use-action.ts';
import { useAnswer } from './use-answer.ts';

interface Props {
  readonly filter: Body<'/notifications/retry', 'post'>['filter'];
  readonly onClose: () => void;
}

const ratePerSecondDefault = 100;
const lookEveryMs = 1000;

export function BulkRetry({ filter, onClose }: Props) {
  const [rate, setRate] = useState(String(ratePerSecondDefault));
  const [jobId, setJobId] = useState<string | null>(null);
  const action = useAction('form');
  const {
    value: found,
    problem,
    reload,
  } = useAnswer(
    (signal) => call('post', '/notifications/retry', { body: { filter, dryRun: true }, signal }),
    JSON.stringify(filter),
  );
  return (
    <Dialog title="Send again what has failed" onClose={onClose}>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {jobId !== null && <JobProgress id={jobId} />}
      {jobId === null && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            action.run(async () => {
              const started = await call('post', '/notifications/retry', {
                body: { filter, ratePerSecond: Number(rate) },
              });
              setJobId(started.jobId);
            });
          }}
        >
          <p aria-live="polite">
            {found === null
              ? 'Counting…'
              : `${found.matchingIsExact ? '' : 'At least '}${count(found.matching)} failed notifications are sent again, each once.`}
          </p>
          <Field label="At most, a second" problem={action.fieldProblem('ratePerSecond')}>
            {(id, about) => (
              <input
                id={id}
                aria-describedby={about}
                type="number"
                min="1"
                required
                value={rate}
                onInput={({ currentTarget }) => setRate(currentTarget.value)}
              />
            )}
          </Field>
          {action.problem !== null && <ProblemNote problem={action.problem} />}
          <div class="actions">
            <button type="submit" class="primary" disabled={action.isBusy || found === null || found.matching === 0}>
              Send them again
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

function JobProgress({ id }: { readonly id: string }) {
  const {
    value: job,
    problem,
    reload,
  } = useAnswer((signal) => call('get', '/jobs/{id}', { params: { id }, signal }), id);
  const isOver = job !== null && job.endedAt !== null;
  useEffect(() => {
    if (isOver) return undefined;
    const timer = setInterval(reload, lookEveryMs);
    return () => clearInterval(timer);
  }, [isOver, reload]);
  const action = useAction('toast');
  if (job === null)
    return problem === null ? <p class="loading">…</p> : <ProblemNote problem={problem} onRetry={reload} />;
  return (
    <div class="stack">
      <p aria-live="polite">
        {sentenceCase(job.state)}: {progressOf(job)}
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

function progressOf({ done, total, skipped, failed }: Job): string {
  const others = [
    skipped === 0 ? [] : [`${count(skipped)} skipped`],
    failed === 0 ? [] : [`${count(failed)} undecided`],
  ].flat();
  return [`${count(done)} of ${count(total)} sent again`, ...others].join(', ');
}
