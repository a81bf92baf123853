// What the log has of a notification, event by event, once somebody wants to see it.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { visible } from '../../format.ts';
import { Time } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Answer, Notification } from '../../wire.ts';

type Page = Answer<'/events', 'get'>;
type HistoryEvent = Page['data'][number];
type Asked = Pick<Notification, 'id' | 'createdAt'>;

/** A notification has some three events; one that was sent again a hundred times has hundreds. */
const pageSize = 100;
const pagesMax = 10;

export function Events({ notification }: { readonly notification: Notification }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details class="card" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Its events in the log</summary>
      {isOpen && <List {...notification} />}
    </details>
  );
}

function List({ id, createdAt, updatedAt }: Asked & Pick<Notification, 'updatedAt'>) {
  const { value, problem, reload } = useAnswer((signal) => readEvents({ id, createdAt }, signal), id, updatedAt);
  if (problem !== null) return <ProblemNote problem={problem} onRetry={reload} />;
  if (value === null) return <p class="loading">Loading…</p>;
  return (
    <ol class="events">
      {value.map((event) => (
        <li key={event.position}>
          <details>
            <summary>
              {event.type} <Time at={event.occurredAt} />
            </summary>
            <pre class="source" tabIndex={0} role="region" aria-label={`${event.type} at ${event.position}`}>
              {visible(JSON.stringify(event, null, 2))}
            </pre>
          </details>
        </li>
      ))}
    </ol>
  );
}

async function readEvents({ id, createdAt }: Asked, signal: AbortSignal): Promise<readonly HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const after = cursor === undefined ? { from: createdAt } : { cursor };
    const answer: Page = await call('get', '/events', {
      query: { notificationId: id, limit: pageSize, ...after },
      signal,
    });
    events.push(...answer.data);
    if (answer.nextCursor === null) break;
    cursor = answer.nextCursor;
  }
  return events;
}
