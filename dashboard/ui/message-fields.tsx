// Fields of what is sent, as the form of a test and the editor of a template both have them.

import type { Ref } from 'preact';

import { channelName } from '../format.ts';
import type { Channel } from '../wire.ts';
import { channels } from '../wire.ts';
import { Field } from './field.tsx';

interface Props<T> {
  readonly value: T;
  /** What the API said of it. */
  readonly problem: string | null;
  readonly onChange: (value: T) => void;
}

export function ChannelField({
  value,
  problem,
  onChange,
  isFixed = false,
}: Props<Channel> & { readonly isFixed?: boolean }) {
  return (
    <Field label="Channel" problem={problem}>
      {(id, about) => (
        <select
          id={id}
          aria-describedby={about}
          disabled={isFixed}
          value={value}
          onChange={({ currentTarget }) => onChange(channels.find((each) => each === currentTarget.value) ?? value)}
        >
          {channels.map((channel) => (
            <option key={channel} value={channel}>
              {channelName(channel)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function SubjectField({ channel, value, problem, onChange }: Props<string> & { readonly channel: Channel }) {
  return (
    <Field label={channel === 'EMAIL' ? 'Subject' : 'Subject (optional)'} problem={problem}>
      {(id, about) => (
        <input
          id={id}
          aria-describedby={about}
          required={channel === 'EMAIL'}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface LongProps extends Props<string> {
  readonly label: string;
  readonly rows: number;
  readonly help?: string;
  readonly isRequired?: boolean;
  /** Of the field itself: whoever leads to a place in it. */
  readonly area?: Ref<HTMLTextAreaElement>;
}

export function LongTextField({ label, value, problem, onChange, rows, help, isRequired = false, area }: LongProps) {
  return (
    <Field label={label} problem={problem} {...(help === undefined ? {} : { help })}>
      {(id, about) => (
        <textarea
          id={id}
          {...(area === undefined ? {} : { ref: area })}
          aria-describedby={about}
          rows={rows}
          required={isRequired}
          spellcheck={false}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}
