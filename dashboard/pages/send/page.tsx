// Sends a test on any channel, and shows what a program would do in its place.

import { useMemo, useState } from 'preact/hooks';

import { allTemplates, call } from '../../api.ts';
import { sentenceCase } from '../../format.ts';
import { Field } from '../../ui/field.tsx';
import { ChannelField, LongTextField, SubjectField } from '../../ui/message-fields.tsx';
import { Code } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import type { Action } from '../../ui/use-action.ts';
import { useAction } from '../../ui/use-action.ts';
import { useAnswer } from '../../ui/use-answer.ts';
import { useOnce } from '../../ui/use-once.ts';
import type { Body } from '../../wire.ts';
import { priorities } from '../../wire.ts';
import type { Draft } from './draft.ts';
import { emptyDraft, requestOf } from './draft.ts';
import { Sent } from './sent.tsx';
import { curlOf, typescriptOf } from './snippets.ts';

type Request = Body<'/notify', 'post'>;
const apiUrl = new URL('api/v1/', document.baseURI).href;

export function SendPage() {
  const [draft, setDraft] = useState(emptyDraft);
  const [sentId, setSentId] = useState<string | null>(null);
  const action = useAction('form');
  const { request, problem } = useMemo(() => requestOf(draft), [draft]);
  const once = useOnce(request);
  const send = () =>
    action.run(async () => {
      const { apiKey } = await call('get', '/tenant');
      // The API checks it: what is asked for here may be wrong.
      const body = request as Request;
      const accepted = await once((idempotencyKey) => call('post', '/notify', { body, apiKey, idempotencyKey }));
      setSentId(accepted.notificationId);
    });
  return (
    <>
      <h1>Send a test</h1>
      <div class="halves">
        <form
          class="card"
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <Fields
            draft={draft}
            action={action}
            dataProblem={problem}
            onChange={(change) => setDraft({ ...draft, ...change })}
          />
          {action.problem !== null && <ProblemNote problem={action.problem} />}
          <div class="actions">
            <button type="submit" class="primary" disabled={action.isBusy || problem !== null}>
              Send it
            </button>
          </div>
        </form>
        <div class="stack">
          {sentId !== null && <Sent key={sentId} id={sentId} />}
          <Snippets request={request} />
        </div>
      </div>
    </>
  );
}

function Snippets({ request }: { readonly request: Readonly<Record<string, unknown>> }) {
  const [view, setView] = useState('curl');
  return (
    <section class="card" aria-labelledby="program">
      <h2 id="program">The same by a program</h2>
      <Tabs names={['curl', 'TypeScript']} chosen={view} onChoose={setView} label="Language">
        {view === 'curl' ? (
          <Code label="Shell" text={curlOf(request, apiUrl)} />
        ) : (
          <Code label="TypeScript" text={typescriptOf(request, new URL('../..', apiUrl).href.replace(/\/$/, ''))} />
        )}
      </Tabs>
    </section>
  );
}

interface FieldsProps {
  readonly draft: Draft;
  readonly action: Action;
  readonly dataProblem: string | null;
  readonly onChange: (change: Partial<Draft>) => void;
}

const recipientHelp = {
  EMAIL: 'An email address.',
  SMS: 'A phone number with its country: +4915112345678.',
  WEBHOOK: 'An https address.',
  IN_APP: 'An id of your own, of the user whose inbox it is.',
};

function Fields({ draft, action, dataProblem, onChange }: FieldsProps) {
  const { value: templates } = useAnswer(allTemplates, '');
  const fitting = (templates ?? []).filter(({ channel }) => channel === draft.channel);
  return (
    <>
      <div class="columns">
        <ChannelField
          value={draft.channel}
          problem={action.fieldProblem('channel')}
          onChange={(channel) => onChange({ channel, template: '' })}
        />
        <Field label="Priority" problem={action.fieldProblem('priority')}>
          {(id) => (
            <select
              id={id}
              value={draft.priority}
              onChange={({ currentTarget }) =>
                onChange({ priority: priorities.find((each) => each === currentTarget.value) ?? 'DEFAULT' })
              }
            >
              {priorities.map((priority) => (
                <option key={priority} value={priority}>
                  {sentenceCase(priority)}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <Field label="Recipient" help={recipientHelp[draft.channel]} problem={action.fieldProblem('recipient')}>
        {(id, about) => (
          <input
            id={id}
            aria-describedby={about}
            required
            spellcheck={false}
            autocomplete="off"
            value={draft.recipient}
            onInput={({ currentTarget }) => onChange({ recipient: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Template" problem={action.fieldProblem('template')}>
        {(id, about) => (
          <select
            id={id}
            aria-describedby={about}
            value={draft.template}
            onChange={({ currentTarget }) => onChange({ template: currentTarget.value })}
          >
            <option value="">None: the text below</option>
            {fitting.map(({ id: templateId, name }) => (
              <option key={templateId} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      {draft.template === '' && (
        <>
          <SubjectField
            channel={draft.channel}
            value={draft.subject}
            problem={action.fieldProblem('subject')}
            onChange={(subject) => onChange({ subject })}
          />
          <LongTextField
            label="Body"
            help="With data, {{ name }} stands for a value of it."
            rows={6}
            isRequired
            value={draft.body}
            problem={action.fieldProblem('body')}
            onChange={(body) => onChange({ body })}
          />
        </>
      )}
      <LongTextField
        label="Data (JSON)"
        rows={3}
        value={draft.data}
        problem={dataProblem ?? action.fieldProblem('data')}
        onChange={(data) => onChange({ data })}
      />
      <Field label="Send at (optional)" help="In your zone; empty: at once." problem={action.fieldProblem('sendAt')}>
        {(id, about) => (
          <input
            id={id}
            aria-describedby={about}
            type="datetime-local"
            value={draft.sendAt}
            onInput={({ currentTarget }) => onChange({ sendAt: currentTarget.value })}
          />
        )}
      </Field>
    </>
  );
}
