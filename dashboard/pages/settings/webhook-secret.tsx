// The secret that webhooks are signed with, and how it is exchanged: for 24 h both sign.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Code, CopyButton } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Provider } from '../../wire.ts';

export function WebhookSecret({ secret }: { readonly secret: string }) {
  const [isShown, setIsShown] = useState(false);
  const [isReplacing, setIsReplacing] = useState(false);
  const { value: saved, problem, reload } = useAnswer(savedWebhook, '');
  /** Of the tenant's own making; null: what every tenant has signs. */
  const own = saved?.provider?.enabled === true ? saved.provider : null;
  const isDisabled = saved?.provider?.enabled === false;
  return (
    <section class="card" aria-labelledby="webhook-secret">
      <h2 id="webhook-secret">Webhook secret</h2>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {saved !== null && (
        <p class="note">
          {own === null
            ? 'Every tenant has one; receivers verify by it that a webhook is yours.'
            : 'A secret of your own signs. It isn’t shown any more.'}
        </p>
      )}
      <code>{saved === null ? '…' : (own?.apiKey ?? (isShown ? secret : `${secret.slice(0, 6)}••••••`))}</code>
      <div class="actions">
        {saved !== null && own === null && (
          <>
            <button type="button" class="small" aria-pressed={isShown} onClick={() => setIsShown(!isShown)}>
              {isShown ? 'Hide' : 'Show'}
            </button>
            <CopyButton text={secret} />
          </>
        )}
        <button type="button" class="small" onClick={() => setIsReplacing(true)}>
          Exchange it…
        </button>
      </div>
      {isReplacing && <Exchange isDisabled={isDisabled} onDone={reload} onClose={() => setIsReplacing(false)} />}
    </section>
  );
}

/** null in it: none is saved. */
async function savedWebhook(signal?: AbortSignal): Promise<{ readonly provider: Provider | null }> {
  const providers = await call('get', '/providers', signal === undefined ? {} : { signal });
  return { provider: providers.find(({ channel }) => channel === 'WEBHOOK') ?? null };
}

interface ExchangeProps {
  /** One of the tenant's own is saved, and doesn't sign. */
  readonly isDisabled: boolean;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function Exchange({ isDisabled, onDone, onClose }: ExchangeProps) {
  // One, however often it is asked for: where an answer was lost it may sign already.
  const [secret] = useState(newSecret);
  const [isMade, setIsMade] = useState(false);
  const action = useAction('form');
  return (
    <Dialog title="Exchange the webhook secret" isKept={action.isBusy || isMade} onClose={onClose}>
      {!isMade ? (
        <>
          <p>
            A new secret is made and shown this once. For 24 h webhooks carry a signature of each, so that receivers can
            change over.
          </p>
          {isDisabled && (
            <p>Your own secret is disabled. The new one takes its place, and is enabled with its settings.</p>
          )}
          {action.problem !== null && <ProblemNote problem={action.problem} />}
          <div class="actions">
            <button
              type="button"
              class="primary"
              disabled={action.isBusy}
              onClick={() =>
                action.run(async () => {
                  // What else it says stays, as it is now: whoever can't be told that exchanges nothing.
                  const { provider } = await savedWebhook();
                  const config = provider?.config ?? {};
                  await call('post', '/providers', {
                    body: { channel: 'WEBHOOK', provider: 'custom', apiKey: secret, config, enabled: true },
                  });
                  setIsMade(true);
                  onDone();
                })
              }
            >
              Make a new one
            </button>
          </div>
        </>
      ) : (
        <>
          <Code label="Secret" text={secret} />
          <div class="actions">
            <button type="button" class="primary" onClick={onClose}>
              Done
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}

/** As Standard Webhooks 1.0 has it: 24 to 64 bytes in base64. */
function newSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
}
