// How the text in the editor differs from a version of the template: the one in use, or one that it had before.

import { useMemo, useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { localTime, visible } from '../../format.ts';
import { Field } from '../../ui/field.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Template } from '../../wire.ts';
import { lineDiff } from './line-diff.ts';

type Parts = Pick<Template, 'subject' | 'body' | 'strict'>;

interface Props {
  readonly template: Template;
  /** As it stands in the editor. */
  readonly after: Parts;
  /** Puts a version's text into the editor. */
  readonly onTake: (parts: Parts) => void;
}

export function Changes({ template, after, onTake }: Props) {
  const { id, version: inUse } = template;
  const [chosen, setChosen] = useState<number | null>(null);
  const version = chosen ?? inUse;
  const { value: list } = useAnswer(
    (signal) => call('get', '/templates/{id}/versions', { params: { id }, signal }),
    id,
    inUse,
  );
  const {
    value: before,
    problem,
    reload,
  } = useAnswer(
    (signal) => call('get', '/templates/{id}/versions/{version}', { params: { id, version: String(version) }, signal }),
    `${id} ${version}`,
  );
  const isSame = before !== null && wholeOf(before) === wholeOf(after) && before.strict === after.strict;
  return (
    <section class="card" aria-labelledby="changes">
      <h2 id="changes">Against version {version}</h2>
      <Field label="Compare with">
        {(fieldId) => (
          <select
            id={fieldId}
            value={String(version)}
            onChange={({ currentTarget }) => setChosen(Number(currentTarget.value))}
          >
            {(list?.data ?? [{ version: inUse, name: template.name, savedAt: template.updatedAt }]).map((each) => (
              <option key={each.version} value={String(each.version)}>
                {`Version ${each.version}${each.version === inUse ? ', in use' : ''}: ${localTime(each.savedAt)}, ${each.name}`}
              </option>
            ))}
          </select>
        )}
      </Field>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {isSame && <p class="note">The text in the editor is that of version {version}.</p>}
      {before !== null && !isSame && (
        <>
          <Diff before={before} after={after} />
          <div class="actions">
            <button
              type="button"
              onClick={() => onTake({ subject: before.subject, body: before.body, strict: before.strict })}
            >
              Put version {version} into the editor
            </button>
          </div>
        </>
      )}
    </section>
  );
}

const marks = { same: ' ', removed: '−', added: '+' };
const names = { same: '', removed: 'removed: ', added: 'added: ' };

function Diff({ before, after }: { readonly before: Parts; readonly after: Parts }) {
  const [from, to] = [wholeOf(before), wholeOf(after)];
  const lines = useMemo(() => lineDiff(from, to), [from, to]);
  return (
    <>
      {before.strict !== after.strict && (
        <p class="note">
          {after.strict ? 'Now requests whose data lack a name are refused.' : 'Now what the data lack is empty.'}
        </p>
      )}
      {lines === null ? (
        <p class="note">The text is too long to be compared line by line.</p>
      ) : (
        <div class="diff" tabIndex={0} role="region" aria-label="Changed lines">
          {lines.map(({ kind, text }, place) => (
            <div key={place} class={kind}>
              <span aria-hidden="true">{marks[kind]}</span>
              <code>
                <span class="hidden">{names[kind]}</span>
                {visible(text)}
              </code>
            </div>
          ))}
        </div>
      )}
    </>
  );
}

function wholeOf({ subject, body }: Pick<Parts, 'subject' | 'body'>): string {
  return subject === null || subject === '' ? body : `${subject}\n\n${body}`;
}
