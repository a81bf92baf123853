// A new key: its name and scopes, then the key itself, this once.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Code } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';

const scopes = [
  { name: 'notify', about: 'sends, and sees what was sent' },
  { name: 'inbox', about: 'serves the in-app inbox' },
  { name: 'read', about: 'reads what the dashboard reads' },
] as const;
type Scope = (typeof scopes)[number]['name'];

export function NewKey({ onMade, onClose }: { readonly onMade: () => void; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<readonly Scope[]>(['notify']);
  const [whole, setWhole] = useState<string | null>(null);
  const action = useAction('form');
  if (whole !== null)
    return (
      <Dialog title={`The key ${name}`} isKept onClose={onClose}>
        <p>It is shown this once. Put it where your program finds its secrets.</p>
        <Code label="API key" text={whole} />
        <div class="actions">
          <button type="button" class="primary" onClick={onClose}>
            Done
          </button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title="New API key" isKept={action.isBusy} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          action.run(async () => {
            const made = await call('post', '/keys', { body: { name, scopes: [...chosen] } });
            setWhole(made.key);
            onMade();
          });
        }}
      >
        <Field label="Name" help="What will use it." problem={action.fieldProblem('name')}>
          {(id, about) => (
            <input
              id={id}
              aria-describedby={about}
              required
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
          )}
        </Field>
        <fieldset>
          <legend class="label">What it may do</legend>
          {scopes.map(({ name: scope, about }) => (
            <label key={scope} class="check">
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={({ currentTarget }) =>
                  setChosen(currentTarget.checked ? [...chosen, scope] : chosen.filter((each) => each !== scope))
                }
              />
              <span>
                <b>{scope}</b> {about}
              </span>
            </label>
          ))}
        </fieldset>
        {action.problem !== null && <ProblemNote problem={action.problem} />}
        <div class="actions">
          <button type="submit" class="primary" disabled={action.isBusy || chosen.length === 0}>
            Make it
          </button>
        </div>
      </form>
    </Dialog>
  );
}
