// Sends again whatever of a filter has failed: first how many there are, then as a job that can be watched and stopped.

import { useState } from 'preact/hooks';

import { call } from '../api.ts';
import { count } from '../format.ts';
import type { Body } from '../wire.ts';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';
import { JobProgress } from './job-progress.tsx';
import { ProblemNote } from './problem.tsx';
import { useAction } from './use-action.ts';
import { useAnswer } from './use-answer.ts';

interface Props {
  readonly filter: Body<'/notifications/retry', 'post'>['filter'];
  readonly onClose: () => void;
}

const ratePerSecondDefault = 100;

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
      {jobId !== null && <JobProgress id={jobId} does="sent again" />}
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
