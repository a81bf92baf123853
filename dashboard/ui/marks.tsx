// Small things that stand in lines and cells: a status, a time, a text to copy.

import { signal } from '@preact/signals';

import { listTime, localTime, relativeTime, sentenceCase, utcTime } from '../format.ts';
import type { Status } from '../wire.ts';
import { say } from './toasts.tsx';

/** UTC ms, to the second that shows `3 min ago`. */
const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 10_000);

export function StatusMark({ status }: { readonly status: Status | 'DELIVERED' | 'FAILED' }) {
  return <span class={`status ${status.toLowerCase()}`}>{sentenceCase(status)}</span>;
}

export function Time({ at, form = 'full' }: { readonly at: string; readonly form?: 'full' | 'list' | 'relative' }) {
  const text =
    form === 'list' ? listTime(at, now.value) : form === 'relative' ? relativeTime(at, now.value) : localTime(at);
  return (
    <time dateTime={at} title={form === 'full' ? utcTime(at) : `${localTime(at)} here, ${utcTime(at)}`}>
      {text}
    </time>
  );
}

export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  return (
    <button
      type="button"
      class="small"
      onClick={() =>
        void copied(text).then(
          () => say('Copied.'),
          () => say('The browser did not let it be copied: select the text.'),
        )
      }
    >
      {label}
    </button>
  );
}

/** Rejects where the browser refuses it, also where it has no clipboard: by plain http from another machine. */
async function copied(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}

export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="code">
      <div class="code-head">
        <span>{label}</span>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
    </div>
  );
}
