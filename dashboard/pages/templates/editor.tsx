// One template: its text, what is wrong with it where, how it renders with data while it is typed, and how it differs from what it was.

import { useRef, useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { changedMeanwhile } from '../../problem.ts';
import { goTo, linkTo } from '../../router.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { ChannelField, LongTextField, SubjectField } from '../../ui/message-fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { say } from '../../ui/toasts.tsx';
import { useAction } from '../../ui/use-action.ts';
import type { Template } from '../../wire.ts';
import { Changes } from './changes.tsx';
import { Preview } from './preview.tsx';
import { placeIn } from './place.ts';
import type { Text } from './use-preview.ts';
import { usePreview } from './use-preview.ts';

interface Props {
  /** null: a new one. */
  readonly template: Template | null;
  readonly onSaved: () => void;
  /** What is stored isn't what the text was taken from any more. */
  readonly onStale: () => void;
}

const emptyText: Text = { name: '', channel: 'EMAIL', subject: '', body: '', strict: false };

export function Editor({ template, onSaved, onStale }: Props) {
  const [text, setText] = useState<Text>(() => template ?? emptyText);
  // The version that the text was taken from, or was said to be in use since: the page may read anew behind it.
  const [knownVersion, setKnownVersion] = useState(template?.version ?? 0);
  const [data, setData] = useState('{}');
  const previewed = usePreview(text, data);
  const action = useAction('form');
  const change = (part: Partial<Text>) => setText({ ...text, ...part });
  const isChanged = (['name', 'subject', 'body', 'strict'] as const).some(
    (field) => text[field] !== (template ?? emptyText)[field],
  );
  const save = () =>
    action.run(async () => {
      if (template !== null) {
        const { data } = await call('get', '/templates/{id}/versions', { params: { id: template.id } });
        const inUse = data[0]?.version ?? template.version;
        if (inUse !== knownVersion) {
          setKnownVersion(inUse);
          onStale();
          throw changedMeanwhile(
            `Version ${inUse} was saved since this page read the template. Compare with it below, and save again to put this text in its place.`,
          );
        }
      }
      const { name, channel, subject, body, strict } = text;
      const whole = { name, channel, body, strict, ...(subject === null || subject === '' ? {} : { subject }) };
      const saved =
        template === null
          ? await call('post', '/templates', { body: whole })
          : await call('put', '/templates/{id}', { params: { id: template.id }, body: whole });
      setKnownVersion(saved.version);
      say(`Version ${saved.version} is saved.`);
      onSaved();
      if (template === null) goTo(linkTo('templates', saved.id));
    });
  const ofText = (path: string) => (path === 'subject' || path === 'body' ? previewed.fieldProblem(path) : null);
  return (
    <>
      <p>
        <a href={linkTo('templates')}>← Templates</a>
      </p>
      <div class="head">
        <h1>{template === null ? 'New template' : template.name}</h1>
        {template !== null && <DeleteButton template={template} onDeleted={onSaved} />}
      </div>
      <div class="halves">
        <form
          class="card"
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <TextFields
            text={text}
            isNew={template === null}
            fieldProblem={(path) => action.fieldProblem(path) ?? ofText(path)}
            onChange={change}
          />
          {action.problem !== null && <ProblemNote problem={action.problem} />}
          <div class="actions">
            <button type="submit" class="primary" disabled={action.isBusy || !isChanged}>
              {template === null ? 'Make it' : `Save as version ${template.version + 1}`}
            </button>
            {template !== null && <span class="note">Version {template.version} is in use.</span>}
          </div>
        </form>
        <div class="stack">
          <Preview text={text} previewed={previewed} data={data} onData={setData} />
          {template !== null && <Changes template={template} after={text} onTake={change} />}
        </div>
      </div>
    </>
  );
}

interface FieldsProps {
  readonly text: Text;
  readonly isNew: boolean;
  readonly fieldProblem: (path: string) => string | null;
  readonly onChange: (part: Partial<Text>) => void;
}

function TextFields({ text, isNew, fieldProblem, onChange }: FieldsProps) {
  const { name, channel, subject, body, strict } = text;
  const area = useRef<HTMLTextAreaElement>(null);
  const place = placeIn(fieldProblem('body') ?? '');
  return (
    <>
      <div class="columns">
        <Field label="Name" problem={fieldProblem('name')}>
          {(id, about) => (
            <input
              id={id}
              aria-describedby={about}
              required
              spellcheck={false}
              value={name}
              onInput={({ currentTarget }) => onChange({ name: currentTarget.value })}
            />
          )}
        </Field>
        <ChannelField
          value={channel}
          isFixed={!isNew}
          problem={fieldProblem('channel')}
          onChange={(next) => onChange({ channel: next })}
        />
      </div>
      <SubjectField
        channel={channel}
        value={subject ?? ''}
        problem={fieldProblem('subject')}
        onChange={(next) => onChange({ subject: next })}
      />
      <LongTextField
        label="Body"
        help="{{ name }} stands for a value of the request’s data."
        rows={16}
        isRequired
        area={area}
        value={body}
        problem={fieldProblem('body')}
        onChange={(next) => onChange({ body: next })}
      />
      {place !== null && (
        <div>
          <button
            type="button"
            class="small"
            onClick={() => {
              const at = offsetOf(body, place.line, place.column);
              area.current?.focus();
              area.current?.setSelectionRange(at, at + 1);
            }}
          >
            Go to line {place.line}, column {place.column}
          </button>
        </div>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={strict}
          onChange={({ currentTarget }) => onChange({ strict: currentTarget.checked })}
        />
        Refuse requests whose data lack a name
      </label>
    </>
  );
}

function offsetOf(text: string, line: number, column: number): number {
  const before = text.split('\n').slice(0, line - 1);
  return before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
}

function DeleteButton({ template, onDeleted }: { readonly template: Template; readonly onDeleted: () => void }) {
  const [isAsked, setIsAsked] = useState(false);
  const action = useAction('toast');
  return (
    <>
      <button type="button" class="danger" disabled={action.isBusy} onClick={() => setIsAsked(true)}>
        Delete
      </button>
      {isAsked && (
        <Confirm
          title={`Delete ${template.name}?`}
          action="Delete it"
          onClose={() => setIsAsked(false)}
          onConfirm={() =>
            action.run(async () => {
              await call('delete', '/templates/{id}', { params: { id: template.id } });
              say(`${template.name} is deleted.`);
              goTo(linkTo('templates'));
              onDeleted();
            })
          }
        >
          <p>What was accepted with it is sent all the same; a request that names it is refused.</p>
        </Confirm>
      )}
    </>
  );
}
