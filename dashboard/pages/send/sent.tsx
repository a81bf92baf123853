// What becomes of a test: its status as it changes.

import { useEffect } from 'preact/hooks';

import { call } from '../../api.ts';
import { visible } from '../../format.ts';
import { linkTo } from '../../router.ts';
import { onChanges } from '../../stream.ts';
import { StatusMark } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAnswer } from '../../ui/use-answer.ts';

export function Sent({ id }: { readonly id: string }) {
  const { value, problem, reload } = useAnswer(
    (signal) => call('get', '/notifications/{id}', { params: { id }, signal }),
    id,
  );
  useEffect(
    () => onChanges((changes) => changes.some((change) => change.notificationId === id) && reload()),
    [id, reload],
  );
  return (
    <section class="card" aria-live="polite" aria-labelledby="sent">
      <h2 id="sent">It is accepted</h2>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      <p class="facts">
        {value !== null && <StatusMark status={value.notification.status} />}
        <a href={linkTo('notifications', id)}>{id}</a>
      </p>
      {value !== null && value.notification.lastError !== null && (
        <p class="said">{visible(value.notification.lastError)}</p>
      )}
    </section>
  );
}
