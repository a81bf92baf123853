// Providers: what each channel sends by, its form drawn from the catalog alone, and a test with the provider's own answer.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { channelName, visible } from '../../format.ts';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { CopyButton } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { say } from '../../ui/toasts.tsx';
import { useAction } from '../../ui/use-action.ts';
import { useAnswer } from '../../ui/use-answer.ts';
import type { ChannelProviders, Provider } from '../../wire.ts';
import { ProviderForm } from './form.tsx';
import { TestButton } from './test.tsx';

type Role = Provider['role'];

export function ProvidersPage() {
  const { value, problem, reload } = useAnswer(
    (signal) => Promise.all([call('get', '/providers/catalog', { signal }), call('get', '/providers', { signal })]),
    '',
  );
  const [catalog, saved] = value ?? [[], []];
  return (
    <>
      <h1>Providers</h1>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {value === null && problem === null && <p class="loading">Loading…</p>}
      {catalog
        .filter(({ providers }) => providers.length > 0)
        .map((entry) => (
          <ChannelSection
            key={entry.channel}
            entry={entry}
            saved={saved.filter(({ channel }) => channel === entry.channel)}
            onChange={reload}
          />
        ))}
    </>
  );
}

interface SectionProps {
  readonly entry: ChannelProviders;
  readonly saved: readonly Provider[];
  readonly onChange: () => void;
}

function ChannelSection({ entry, saved, onChange }: SectionProps) {
  const { channel, required } = entry;
  const [edited, setEdited] = useState<Role | null>(null);
  const mayHaveFallback = channel === 'EMAIL' || channel === 'SMS';
  const primary = saved.find(({ role }) => role === 'primary');
  const fallback = saved.find(({ role }) => role === 'fallback');
  const id = `channel-${channel}`;
  return (
    <section class="stack" aria-labelledby={id}>
      <h2 id={id}>{channelName(channel)}</h2>
      {primary === undefined ? (
        <div class="card">
          <p class="note">
            {required
              ? 'None yet: nothing can be sent on this channel.'
              : 'None is needed; a signing secret of your own may be saved.'}
          </p>
          <div>
            <button type="button" class="primary" onClick={() => setEdited('primary')}>
              Set up {channelName(channel)}
            </button>
          </div>
        </div>
      ) : (
        <ProviderCard provider={primary} entry={entry} onEdit={() => setEdited('primary')} onChange={onChange} />
      )}
      {fallback !== undefined && (
        <ProviderCard provider={fallback} entry={entry} onEdit={() => setEdited('fallback')} onChange={onChange} />
      )}
      {mayHaveFallback && primary !== undefined && fallback === undefined && (
        <div>
          <button type="button" class="small" onClick={() => setEdited('fallback')}>
            Add a fallback for {channelName(channel)}
          </button>
        </div>
      )}
      {edited !== null && (
        <Dialog
          title={`${channelName(channel)}${edited === 'fallback' ? ', the fallback' : ''}`}
          onClose={() => setEdited(null)}
        >
          <ProviderForm
            entry={entry}
            role={edited}
            saved={saved.find(({ role }) => role === edited) ?? null}
            onSaved={() => {
              setEdited(null);
              onChange();
            }}
            onStale={onChange}
          />
        </Dialog>
      )}
    </section>
  );
}

const breakers = { closed: 'in use', open: 'failing: not called for a while', 'half-open': 'failing: being tried' };

interface CardProps {
  readonly provider: Provider;
  readonly entry: ChannelProviders;
  readonly onEdit: () => void;
  readonly onChange: () => void;
}

function ProviderCard({ provider, entry, onEdit, onChange }: CardProps) {
  const { channel, role, provider: name, apiKey, config, enabled, breaker, callbackUrl } = provider;
  const [isDeleting, setIsDeleting] = useState(false);
  const action = useAction('toast');
  const label = entry.providers.find((each) => each.name === name)?.label ?? name;
  return (
    <div class="card">
      <div class="head">
        <h3>
          {label}
          {role === 'fallback' && ' (fallback)'}
        </h3>
        <span class={`status ${!enabled ? '' : breaker === 'closed' ? 'done' : 'retrying'}`}>
          {enabled ? breakers[breaker] : 'disabled'}
        </span>
      </div>
      <dl class="pairs">
        <dt>Key</dt>
        <dd>
          <code>{apiKey}</code>
        </dd>
        {Object.entries(config).map(([field, value]) => (
          <Pair key={field} name={field} value={typeof value === 'string' ? value : JSON.stringify(value)} />
        ))}
        {callbackUrl !== null && (
          <>
            <dt>Reports to</dt>
            <dd>
              <code>{callbackUrl}</code> <CopyButton text={callbackUrl} />
            </dd>
          </>
        )}
      </dl>
      <div class="actions">
        <button type="button" onClick={onEdit}>
          Edit
        </button>
        <TestButton channel={channel} role={role} />
        <button type="button" class="danger" disabled={action.isBusy} onClick={() => setIsDeleting(true)}>
          Delete
        </button>
      </div>
      {isDeleting && (
        <Confirm
          title={`Delete ${label}?`}
          action="Delete it"
          onClose={() => setIsDeleting(false)}
          onConfirm={() =>
            action.run(async () => {
              await call('delete', '/providers/{channel}', { params: { channel }, query: { role } });
              say(`${label} is deleted.`);
              onChange();
            })
          }
        >
          <p>Its key is forgotten. What is still to be sent by it fails, unless another provider is saved before.</p>
        </Confirm>
      )}
    </div>
  );
}

function Pair({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <bdi>{visible(value)}</bdi>
      </dd>
    </>
  );
}
