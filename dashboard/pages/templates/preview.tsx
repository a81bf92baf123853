// How the text renders with data, beside the editor.

import { visible } from '../../format.ts';
import { isHtml } from '../../html.ts';
import { ContentFrame } from '../../ui/content-frame.tsx';
import { LongTextField } from '../../ui/message-fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import type { Previewed, Text } from './use-preview.ts';

interface Props {
  readonly text: Text;
  readonly previewed: Previewed;
  /** JSON as it is typed. */
  readonly data: string;
  readonly onData: (data: string) => void;
}

export function Preview({ text: { channel, body }, previewed, data, onData }: Props) {
  const { value, problem, reload, dataProblem, fieldProblem } = previewed;
  const isOfField = fieldProblem('subject') !== null || fieldProblem('body') !== null;
  return (
    <section class="card" aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      <LongTextField label="Data (JSON)" rows={4} value={data} problem={dataProblem} onChange={onData} />
      {problem !== null && !isOfField && <ProblemNote problem={problem} onRetry={reload} />}
      <p aria-live="polite" class={value?.missing.length === 0 && !isOfField ? 'note' : 'wrong-text'}>
        {isOfField
          ? 'The text does not parse: what is shown is the last that did.'
          : value === null
            ? ' '
            : value.missing.length === 0
              ? 'The data has every name.'
              : `The data lacks ${visible(value.missing.join(', '))}.`}
      </p>
      {value !== null && (
        <>
          {value.subject !== null && (
            <p>
              <span class="note">Subject</span> <bdi>{visible(value.subject)}</bdi>
            </p>
          )}
          {channel === 'EMAIL' && isHtml(body) ? (
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
