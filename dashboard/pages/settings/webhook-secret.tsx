// The secret that webhooks are signed with, and how it is exchanged: for 24 h both sign.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Code, CopyButton } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';
import { useAnswer } from '../../ui/use-answer.ts';

export function WebhookSecret({ secret }: { readonly secret: string }) {
  const [isShown, setIsShown] = useState(false);
  const [isReplacing, setIsReplacing] = useState(false);
  const {
    value: own,
    problem,
    reload,
  } = useAnswer(
    async (signal) =>
      (await call('get', '/providers', { signal })).find(({ channel }) => channel === 'WEBHOOK') ?? null,
    '',
  );
  return (
    <section class="card" aria-labelledby="webhook-secret">
      <h2 id="webhook-secret">Webhook secret</h2>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      <p class="note">
        {own === null
          ? 'Every tenant has one; receivers verify by it that a webhook is yours.'
          : 'A secret of your own signs. It isn’t shown any more.'}
      </p>
      <code>{own !== null ? own.apiKey : isShown ? secret : `${secret.slice(0, 6)}••••••`}</code>
      <div class="actions">
        {own === null && (
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
      {isReplacing && <Exchange config={own?.config ?? {}} onDone={reload} onClose={() => setIsReplacing(false)} />}
    </section>
  );
}

interface ExchangeProps {
  /** What else the provider says stays. */
  readonly config: Record<string, unknown>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function Exchange({ config, onDone, onClose }: ExchangeProps) {
  const [made, setMade] = useState<string | null>(null);
  const action = useAction('form');
  return (
    <Dialog title="Exchange the webhook secret" onClose={onClose}>
      {made === null ? (
        <>
          <p>
            A new secret is made and shown this once. For 24 h webhooks carry a signature of each, so that receivers can
            change over.
          </p>
          {action.problem !== null && <ProblemNote problem={action.problem} />}
          <div class="actions">
            <button
              type="button"
              class="primary"
              disabled={action.isBusy}
              onClick={() =>
                action.run(async () => {
                  const secret = newSecret();
                  await call('post', '/providers', {
                    body: { channel: 'WEBHOOK', provider: 'custom', apiKey: secret, config, enabled: true },
                  });
                  setMade(secret);
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
          <Code label="Secret" text={made} />
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
