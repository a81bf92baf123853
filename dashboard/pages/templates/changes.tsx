// What has been changed since the template was saved.

import { visible } from '../../format.ts';
import type { Template } from '../../wire.ts';
import { lineDiff } from './line-diff.ts';

type Text = Pick<Template, 'subject' | 'body'>;

const marks = { same: ' ', removed: '−', added: '+' };
const names = { same: '', removed: 'removed: ', added: 'added: ' };

export function Changes({
  before,
  after,
}: {
  readonly before: Text & { readonly version: number };
  readonly after: Text;
}) {
  const lines = lineDiff(wholeOf(before), wholeOf(after));
  return (
    <section class="card" aria-labelledby="changes">
      <h2 id="changes">Against version {before.version}</h2>
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
    </section>
  );
}

function wholeOf({ subject, body }: Text): string {
  return subject === null || subject === '' ? body : `${subject}\n\n${body}`;
}
