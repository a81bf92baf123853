// Recipients that nothing goes to: looked through page by page, put on the list and taken off it.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { channelName, visible } from '../../format.ts';
import { Time } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { RecipientForm } from '../../ui/recipient-fields.tsx';
import { say } from '../../ui/toasts.tsx';
import { useAction } from '../../ui/use-action.ts';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Answer } from '../../wire.ts';

type Page = Answer<'/suppressions', 'get'>;
const pageSize = '50';

export function Suppressions() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const { value, problem, reload } = useAnswer(
    (signal) => call('get', '/suppressions', { query: { limit: pageSize, cursor }, signal }),
    cursor ?? '',
  );
  return (
    <section class="stack" aria-labelledby="suppressions">
      <h2 id="suppressions">Suppressed recipients</h2>
      <AddForm onAdded={reload} />
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {value !== null && value.data.length === 0 && (
        <div class="card empty">
          <p>None. Bounces, complaints and people who unsubscribe come here.</p>
        </div>
      )}
      {value !== null && value.data.length > 0 && <Entries entries={value.data} onChange={reload} />}
      {(cursors.length > 0 || (value !== null && value.nextCursor !== null)) && (
        <div class="actions">
          <button type="button" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
            Newer
          </button>
          <button
            type="button"
            disabled={value === null || value.nextCursor === null}
            onClick={() => setCursors([...cursors, value?.nextCursor ?? ''])}
          >
            Older
          </button>
        </div>
      )}
    </section>
  );
}

function Entries({ entries, onChange }: { readonly entries: Page['data']; readonly onChange: () => void }) {
  const action = useAction('toast');
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Suppressed recipients: the table">
      <table>
        <thead>
          <tr>
            <th scope="col">Recipient</th>
            <th scope="col">Channel</th>
            <th scope="col">Reason</th>
            <th scope="col">Since</th>
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map(({ id, recipient, channel, reason, createdAt }) => (
            <tr key={id}>
              <td>
                <bdi>{visible(recipient)}</bdi>
              </td>
              <td>{channelName(channel)}</td>
              <td>{reason}</td>
              <td>
                <Time at={createdAt} />
              </td>
              <td>
                <button
                  type="button"
                  class="small"
                  disabled={action.isBusy}
                  onClick={() =>
                    action.run(async () => {
                      await call('delete', '/suppressions/{id}', { params: { id } });
                      say(`${recipient} is off the list.`);
                      onChange();
                    })
                  }
                >
                  Take off<span class="hidden"> {visible(recipient)}</span>
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function AddForm({ onAdded }: { readonly onAdded: () => void }) {
  const action = useAction('form');
  return (
    <RecipientForm
      action={action}
      onSubmit={(body, empty) =>
        action.run(async () => {
          await call('post', '/suppressions', { body });
          say(`Nothing goes to ${body.recipient} any more.`);
          empty();
          onAdded();
        })
      }
    >
      <button type="submit" disabled={action.isBusy}>
        Suppress
      </button>
    </RecipientForm>
  );
}
