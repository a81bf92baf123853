// The tenant's main key: hidden until somebody asks, replaced at once or with some time for the former one.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { CopyButton } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { say } from '../../ui/toasts.tsx';
import { useAction } from '../../ui/use-action.ts';
import { useAnswer } from '../../ui/use-answer.ts';

export function MainKey() {
  const { value: tenant, problem, reload } = useAnswer((signal) => call('get', '/tenant', { signal }), '');
  const [isShown, setIsShown] = useState(false);
  const [isReplacing, setIsReplacing] = useState(false);
  return (
    <section class="card">
      <h2>Main key</h2>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      <p class="note">It sends and serves the inbox. Keep it on your servers.</p>
      <code>
        {tenant === null
          ? '…'
          : isShown
            ? tenant.apiKey
            : `${tenant.apiKey.slice(0, 3)}••••••${tenant.apiKey.slice(-4)}`}
      </code>
      <div class="actions">
        <button type="button" class="small" aria-pressed={isShown} onClick={() => setIsShown(!isShown)}>
          {isShown ? 'Hide' : 'Show'}
        </button>
        {tenant !== null && <CopyButton text={tenant.apiKey} />}
        <button type="button" class="small danger" onClick={() => setIsReplacing(true)}>
          Replace…
        </button>
      </div>
      {isReplacing && (
        <ReplaceKey
          onClose={() => setIsReplacing(false)}
          onReplaced={() => {
            setIsReplacing(false);
            reload();
          }}
        />
      )}
    </section>
  );
}

const graces = [
  { seconds: 0, label: 'It ends at once' },
  { seconds: 3600, label: 'One hour' },
  { seconds: 86_400, label: 'One day' },
  { seconds: 7 * 86_400, label: 'Seven days' },
];

function ReplaceKey({ onReplaced, onClose }: { readonly onReplaced: () => void; readonly onClose: () => void }) {
  const [graceSeconds, setGraceSeconds] = useState(3600);
  const action = useAction('form');
  return (
    <Dialog title="Replace the main key" isKept={action.isBusy} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          action.run(async () => {
            await call('post', '/auth/regenerate-key', { body: { graceSeconds } });
            say('The main key is replaced.');
            onReplaced();
          });
        }}
      >
        <Field label="How long the former key is still taken">
          {(id) => (
            <select
              id={id}
              value={graceSeconds}
              onChange={({ currentTarget }) => setGraceSeconds(Number(currentTarget.value))}
            >
              {graces.map(({ seconds, label }) => (
                <option key={seconds} value={seconds}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        {action.problem !== null && <ProblemNote problem={action.problem} />}
        <div class="actions">
          <button type="submit" class="danger" disabled={action.isBusy}>
            Replace it
          </button>
        </div>
      </form>
    </Dialog>
  );
}
