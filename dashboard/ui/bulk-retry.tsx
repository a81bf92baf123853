// Sends again whatever of a filter has failed: first how many there are, then as a job that can be watched and stopped.

import { Fragment } from 'preact';
import { useState } from 'preact/hooks';

import { call, callWhole } from '../api.ts';
import { count, visible } from '../format.ts';
import { mayBeDone } from '../problem.ts';
import type { Body } from '../wire.ts';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';
import { JobProgress } from './job-progress.tsx';
import { ProblemNote } from './problem.tsx';
import { useAction } from './use-action.ts';
import { useAnswer } from './use-answer.ts';

type Filter = Body<'/notifications/retry', 'post'>['filter'];

interface Props {
  /** As it is when the dialog opens: another one is passed over. */
  readonly filter: Filter;
  readonly onClose: () => void;
}

const ratePerSecondDefault = 100;

export function BulkRetry({ filter: given, onClose }: Props) {
  const [filter, setFilter] = useState(given);
  const [rate, setRate] = useState(String(ratePerSecondDefault));
  const [jobId, setJobId] = useState<string | null>(null);
  const action = useAction('form');
  const {
    value: counted,
    problem,
    reload,
  } = useAnswer(
    (signal) => callWhole('post', '/notifications/retry', { body: { filter, dryRun: true }, signal }),
    JSON.stringify(filter),
  );
  const found = counted?.body ?? null;
  const start = async () => {
    try {
      const started = await call('post', '/notifications/retry', { body: { filter, ratePerSecond: Number(rate) } });
      setJobId(started.jobId);
    } catch (failure) {
      // Its answer may be what was lost: what it sends again and fails once more isn't meant by the next click. Of a refusal nothing is sent.
      if (mayBeDone(failure)) setFilter(failedBy(filter, counted?.headers.get('date') ?? null));
      throw failure;
    }
  };
  return (
    <Dialog title="Send again what has failed" onClose={onClose}>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {jobId !== null && <JobProgress id={jobId} does="sent again" />}
      {jobId === null && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            action.run(start);
          }}
        >
          <p aria-live="polite">
            {found === null
              ? 'Counting…'
              : filter !== given && found.matching === 0
                ? 'None of them is left: what was asked for before sends them again, or has.'
                : `${found.matchingIsExact ? '' : 'At least '}${count(found.matching)} failed notifications are sent again, each once.`}
          </p>
          <Filtered filter={given} />
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

/** By which filters they are found: whoever reads them knows what is sent again. */
function Filtered({ filter: { status: _failed, metadata = {}, ...fields } }: Pick<Props, 'filter'>) {
  const pairs = Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]);
  const filters = [...Object.entries(fields), ...pairs];
  if (filters.length === 0) return <p class="note">They are all that have failed: there is no filter.</p>;
  return (
    <dl class="pairs">
      {filters.map(([name = '', value = '']) => (
        <Fragment key={name}>
          <dt>{visible(name)}</dt>
          <dd>
            <bdi>{visible(value)}</bdi>
          </dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** What of it had failed already when it was counted, and still is. @param countedAt of the answer, by the service's clock, cut to seconds: it may have been anywhere in that one */
function failedBy(filter: Filter, countedAt: string | null): Filter {
  const by = new Date((countedAt === null ? Date.now() : Date.parse(countedAt)) + 1000).toISOString();
  return filter.failedTo !== undefined && Date.parse(filter.failedTo) < Date.parse(by)
    ? filter
    : { ...filter, failedTo: by };
}
