// What failed, by cause, and how to send it again once the cause is mended.

import { useEffect, useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { count, visible } from '../../format.ts';
import { linkTo } from '../../router.ts';
import { BulkRetry } from '../../ui/bulk-retry.tsx';
import { Time } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Channel, FailureCause } from '../../wire.ts';
import type { Range } from './range.ts';
import { timesOf } from './range.ts';

interface Props {
  readonly range: Range;
  readonly channel: Channel | null;
  readonly rounds: number;
}

export function Failures({ range, channel, rounds }: Props) {
  const [retried, setRetried] = useState<ReturnType<typeof filterOf> | null>(null);
  const ofChannel = channel === null ? {} : { channel };
  const key = JSON.stringify([range, channel]);
  useEffect(() => setRetried(null), [key]);
  const { value, problem, reload } = useAnswer(
    (signal) => call('get', '/dashboard/failures', { query: { ...timesOf(range, Date.now()), ...ofChannel }, signal }),
    key,
    rounds,
  );
  const causes = value?.causes ?? [];
  return (
    <section class="stack" aria-labelledby="failures">
      <h2 id="failures">Failures by cause</h2>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {value !== null && causes.length === 0 && (
        <div class="card empty">
          <p>Nothing has failed.</p>
        </div>
      )}
      {causes.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Failures by cause: the table">
          <table>
            <thead>
              <tr>
                <th scope="col">Class</th>
                <th scope="col">Provider</th>
                <th scope="col">Code</th>
                <th scope="col" class="number">
                  Failed
                </th>
                <th scope="col">First</th>
                <th scope="col">Last</th>
                <th scope="col">
                  <span class="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {causes.map((cause) => (
                <tr key={`${cause.class} ${cause.provider} ${cause.code}`}>
                  <td>{cause.class}</td>
                  <td>{visible(cause.provider)}</td>
                  <td>{cause.code === null ? '–' : visible(cause.code)}</td>
                  <td class="number">
                    <a href={linkTo('notifications', null, { status: 'FAILED', ...filterOf(cause, ofChannel) })}>
                      {count(cause.count)}
                    </a>
                  </td>
                  <td>
                    <Time at={cause.firstAt} />
                  </td>
                  <td>
                    <Time at={cause.lastAt} />
                  </td>
                  <td>
                    <button type="button" class="small" onClick={() => setRetried(filterOf(cause, ofChannel))}>
                      Send again…
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {retried !== null && (
        <BulkRetry
          filter={retried}
          onClose={() => {
            setRetried(null);
            reload();
          }}
        />
      )}
    </section>
  );
}

/** What this cause has counted: its last failure is still of it. */
function filterOf(
  { class: errorClass, provider, code, firstAt, lastAt }: FailureCause,
  ofChannel: { readonly channel?: Channel },
) {
  return {
    errorClass,
    provider,
    ...(code === null ? {} : { errorCode: code }),
    failedFrom: firstAt,
    failedTo: new Date(Date.parse(lastAt) + 1).toISOString(),
    ...ofChannel,
  };
}
