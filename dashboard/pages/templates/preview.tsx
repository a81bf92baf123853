// How a template renders, as the API does it: anew while data is typed.

import { useEffect, useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { visible } from '../../format.ts';
import { ContentFrame } from '../../ui/content-frame.tsx';
import { Field } from '../../ui/field.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Template } from '../../wire.ts';
import { dataOf } from '../../ui/json-data.ts';

/** Once somebody has stopped typing. */
const restMs = 250;

export function Preview({ template, isChanged }: { readonly template: Template; readonly isChanged: boolean }) {
  const { id, version, channel } = template;
  const [text, setText] = useState('{}');
  const [data, setData] = useState<Readonly<Record<string, unknown>>>({});
  const { data: typed, problem: dataProblem } = dataOf(text);
  useEffect(() => {
    if (dataProblem !== null) return undefined;
    const timer = setTimeout(() => setData(typed ?? {}), restMs);
    return () => clearTimeout(timer);
  }, [text]);
  const { value, problem, reload } = useAnswer(
    (signal) => call('post', '/templates/{id}/preview', { params: { id }, body: { data }, signal }),
    id,
    // Another text of the template, or other data.
    `${version} ${JSON.stringify(data)}`,
  );
  return (
    <section class="card" aria-labelledby="preview">
      <h2 id="preview">Preview of version {version}</h2>
      {isChanged && <p class="note">The API renders what is saved: save it to see the change.</p>}
      <Field label="Data (JSON)" problem={dataProblem}>
        {(fieldId, about) => (
          <textarea
            id={fieldId}
            aria-describedby={about}
            rows={4}
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        )}
      </Field>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {value !== null && (
        <>
          <p aria-live="polite" class={value.missing.length === 0 ? 'note' : 'wrong-text'}>
            {value.missing.length === 0 ? 'The data has every name.' : `The data lacks ${value.missing.join(', ')}.`}
          </p>
          {value.subject !== null && (
            <p>
              <span class="note">Subject</span> {visible(value.subject)}
            </p>
          )}
          {channel === 'EMAIL' && /<[a-z!/][^>]*>/i.test(template.body) ? (
            <ContentFrame html={value.body} />
          ) : (
            <pre class="source" tabIndex={0} role="region" aria-label="Rendered body">
              {visible(value.body)}
            </pre>
          )}
        </>
      )}
    </section>
  );
}
