// A recipient, by the channel and the address, with what is done with it beside.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import type { Channel } from '../wire.ts';
import { Field } from './field.tsx';
import { ChannelField } from './message-fields.tsx';
import { ProblemNote } from './problem.tsx';
import type { Action } from './use-action.ts';

export interface Recipient {
  readonly channel: Channel;
  readonly recipient: string;
}

interface Props {
  readonly action: Action;
  readonly label?: string;
  /** Given the recipient, and how the field is emptied. */
  readonly onSubmit: (recipient: Recipient, empty: () => void) => void;
  /** The button. */
  readonly children: ComponentChildren;
}

export function RecipientForm({ action, label = 'Recipient', onSubmit, children }: Props) {
  const [channel, setChannel] = useState<Channel>('EMAIL');
  const [recipient, setRecipient] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit({ channel, recipient: recipient.trim() }, () => setRecipient(''));
      }}
    >
      <div class="add-row">
        <ChannelField value={channel} problem={action.fieldProblem('channel')} onChange={setChannel} />
        <Field label={label} problem={action.fieldProblem('recipient')}>
          {(id, about) => (
            <input
              id={id}
              aria-describedby={about}
              required
              spellcheck={false}
              value={recipient}
              onInput={({ currentTarget }) => setRecipient(currentTarget.value)}
            />
          )}
        </Field>
        {children}
      </div>
      {action.problem !== null && <ProblemNote problem={action.problem} />}
    </form>
  );
}
