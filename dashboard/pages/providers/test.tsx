// Sends one message through a provider, and shows what the provider said.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { visible } from '../../format.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';
import type { Answer, Provider } from '../../wire.ts';

type Tested = Answer<'/providers/{channel}/test', 'post'>;

export function TestButton({ channel, role }: Pick<Provider, 'channel' | 'role'>) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        Test
      </button>
      {isOpen && <TestDialog channel={channel} role={role} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function TestDialog({ channel, role, onClose }: Pick<Provider, 'channel' | 'role'> & { readonly onClose: () => void }) {
  const [recipient, setRecipient] = useState('');
  const [tested, setTested] = useState<Tested | null>(null);
  const action = useAction('form');
  const asksRecipient = channel !== 'EMAIL';
  return (
    <Dialog title="Send a test message" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setTested(null);
          action.run(async () => {
            const body = asksRecipient ? { recipient } : {};
            setTested(await call('post', '/providers/{channel}/test', { params: { channel }, query: { role }, body }));
          });
        }}
      >
        {asksRecipient ? (
          <Field label={channel === 'SMS' ? 'Phone number' : 'Address'} problem={action.fieldProblem('recipient')}>
            {(id, about) => (
              <input
                id={id}
                aria-describedby={about}
                required
                value={recipient}
                onInput={({ currentTarget }) => setRecipient(currentTarget.value)}
              />
            )}
          </Field>
        ) : (
          <p>It goes to the tenant’s own address.</p>
        )}
        <div class="actions">
          <button type="submit" class="primary" disabled={action.isBusy}>
            {action.isBusy ? 'Sending…' : 'Send it'}
          </button>
        </div>
      </form>
      {action.problem !== null && <ProblemNote problem={action.problem} />}
      <div aria-live="polite">
        {tested?.success === true && <p class="good-note">The provider has taken it.</p>}
        {tested?.success === false && <p class="problem">{visible(tested.error)}</p>}
      </div>
    </Dialog>
  );
}
