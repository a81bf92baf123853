// Settings of the tenant: limits, the secret of its webhooks, recipients that nothing goes to, what was refused lately.

import { call } from '../../api.ts';
import { count, visible } from '../../format.ts';
import { Time } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAnswer } from '../../ui/use-answer.ts';
import { Erasure } from './erasure.tsx';
import { Suppressions } from './suppressions.tsx';
import { WebhookSecret } from './webhook-secret.tsx';

export function SettingsPage() {
  return (
    <>
      <h1>Settings</h1>
      <Tenant />
      <Suppressions />
      <Erasure />
      <Refusals />
    </>
  );
}

function Tenant() {
  const { value: tenant, problem, reload } = useAnswer((signal) => call('get', '/tenant', { signal }), '');
  const note = problem !== null && <ProblemNote problem={problem} onRetry={reload} />;
  if (tenant === null) return note || <p class="loading">Loading…</p>;
  const { id, name, email, createdAt, limits, webhookSecret } = tenant;
  // What is there stays beside what is said: a dialog that shows a new secret stands in it.
  return (
    <>
      {note}
      <div class="halves">
        <section class="card" aria-labelledby="tenant">
          <h2 id="tenant">Tenant</h2>
          <dl class="pairs">
            <dt>Name</dt>
            <dd>
              <bdi>{name === null ? '–' : visible(name)}</bdi>
            </dd>
            <dt>Address</dt>
            <dd>
              <bdi>{email === null ? '–' : visible(email)}</bdi>
            </dd>
            <dt>Id</dt>
            <dd>
              <code>{id}</code>
            </dd>
            <dt>Since</dt>
            <dd>
              <Time at={createdAt} />
            </dd>
            <dt>Limit</dt>
            <dd>
              {count(limits.requests)} requests that send, in {count(limits.windowSeconds)} s
            </dd>
          </dl>
        </section>
        <WebhookSecret secret={webhookSecret} />
      </div>
    </>
  );
}

function Refusals() {
  const { value, problem, reload } = useAnswer((signal) => call('get', '/refusals', { signal }), '');
  const refusals = value?.data ?? [];
  return (
    <section class="stack" aria-labelledby="refusals">
      <div class="head">
        <h2 id="refusals">Refused lately</h2>
        <button type="button" class="small" onClick={reload}>
          Look again
        </button>
      </div>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {value !== null && refusals.length === 0 && (
        <div class="card empty">
          <p>Nothing was refused since the process that answers was started.</p>
        </div>
      )}
      {refusals.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Refused lately: the table">
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Call</th>
                <th scope="col">Answer</th>
                <th scope="col">Fields</th>
                <th scope="col">Request</th>
              </tr>
            </thead>
            <tbody>
              {refusals.map(({ at, route, status, code, fields, requestId }) => (
                <tr key={requestId}>
                  <td>
                    <Time at={at} />
                  </td>
                  <td>{route}</td>
                  <td>
                    {status} {code}
                  </td>
                  <td>{visible(fields.join(', '))}</td>
                  <td>
                    <code>{requestId}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
