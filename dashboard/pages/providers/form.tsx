// The form of a provider: every field as the catalog says it, none of its own.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { changedMeanwhile } from '../../problem.ts';
import { Field } from '../../ui/field.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { say } from '../../ui/toasts.tsx';
import { useAction } from '../../ui/use-action.ts';
import type { ChannelProviders, Provider, ProviderField } from '../../wire.ts';
import type { Values } from './values.ts';
import { initialValues, savedBody } from './values.ts';

interface Props {
  readonly entry: ChannelProviders;
  readonly role: Provider['role'];
  readonly saved: Provider | null;
  readonly onSaved: () => void;
  /** What is stored isn't what the form was filled from any more. */
  readonly onStale: () => void;
}

export function ProviderForm({ entry, role, saved, onSaved, onStale }: Props) {
  const { channel, providers } = entry;
  // What the form was filled from, or was said to be stored since: the page may read anew behind it.
  const [known, setKnown] = useState(saved);
  const [name, setName] = useState(saved?.provider ?? providers[0]?.name ?? '');
  const chosen = providers.find((each) => each.name === name);
  const fields = chosen?.fields ?? [];
  const [initial, setInitial] = useState<Values>(() => initialValues(fields, saved));
  const [values, setValues] = useState<Values>(initial);
  const [isEnabled, setIsEnabled] = useState(saved?.enabled ?? true);
  const action = useAction('form');
  const choose = (next: string) => {
    setName(next);
    const of = providers.find((each) => each.name === next)?.fields ?? [];
    const first = initialValues(of, known?.provider === next ? known : null);
    setInitial(first);
    setValues(first);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        action.run(async () => {
          const stored = (await call('get', '/providers')).find(
            (each) => each.channel === channel && each.role === role,
          );
          if (stored?.updatedAt !== known?.updatedAt) {
            setKnown(stored ?? null);
            onStale();
            throw changedMeanwhile(
              'The provider was changed since this page read it. Close the form to see what is stored now, or save again to put this in its place.',
            );
          }
          await call('post', '/providers', {
            body: { channel, role, provider: name, enabled: isEnabled, ...savedBody(fields, values, initial) },
          });
          say('It is saved.');
          onSaved();
        });
      }}
    >
      <Field
        label="Provider"
        problem={action.fieldProblem('provider')}
        {...(chosen?.help ? { help: chosen.help } : {})}
      >
        {(id, about) => (
          <select
            id={id}
            aria-describedby={about}
            value={name}
            onChange={({ currentTarget }) => choose(currentTarget.value)}
          >
            {providers.map((each) => (
              <option key={each.name} value={each.name}>
                {each.label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {fields.map((field) => (
        <CatalogField
          key={`${name} ${field.path}`}
          field={field}
          value={values[field.path] ?? ''}
          problem={action.fieldProblem(field.path)}
          onChange={(value) => setValues({ ...values, [field.path]: value })}
        />
      ))}
      <label class="check">
        <input
          type="checkbox"
          checked={isEnabled}
          onChange={({ currentTarget }) => setIsEnabled(currentTarget.checked)}
        />
        Enabled
      </label>
      {action.problem !== null && <ProblemNote problem={action.problem} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={action.isBusy}>
          Save
        </button>
      </div>
    </form>
  );
}

interface CatalogFieldProps {
  readonly field: ProviderField;
  readonly value: string;
  readonly problem: string | null;
  readonly onChange: (value: string) => void;
}

function CatalogField({ field, value, problem, onChange }: CatalogFieldProps) {
  const { label, type, required, choices, min, max, help } = field;
  if (type === 'boolean')
    return (
      <label class="check">
        <input
          type="checkbox"
          checked={value === 'true'}
          onChange={({ currentTarget }) => onChange(String(currentTarget.checked))}
        />
        <span>
          {label} <span class="note">{help}</span>
        </span>
      </label>
    );
  return (
    <Field label={required ? label : `${label} (optional)`} problem={problem} {...(help === '' ? {} : { help })}>
      {(id, about) =>
        type === 'choice' ? (
          <select
            id={id}
            aria-describedby={about}
            required={required}
            value={value}
            onChange={({ currentTarget }) => onChange(currentTarget.value)}
          >
            {!required && <option value="">–</option>}
            {(choices ?? []).map((choice) => (
              <option key={choice} value={choice}>
                {choice}
              </option>
            ))}
          </select>
        ) : type === 'integer' ? (
          <input
            id={id}
            aria-describedby={about}
            type="number"
            required={required}
            min={min ?? undefined}
            max={max ?? undefined}
            value={value}
            onInput={({ currentTarget }) => onChange(currentTarget.value)}
          />
        ) : (
          // A masked key is to be recognised: it is no password field.
          <input
            id={id}
            aria-describedby={about}
            type="text"
            inputMode={type === 'email' ? 'email' : 'text'}
            required={required}
            autocomplete="off"
            spellcheck={false}
            value={value}
            onInput={({ currentTarget }) => onChange(currentTarget.value)}
          />
        )
      }
    </Field>
  );
}
