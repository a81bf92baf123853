// Whoever is signed in and has no tenant yet is told so, and makes one.

import type { ComponentChildren } from 'preact';

import { call } from './api.ts';
import { noteTenant } from './session.ts';
import { ProblemNote } from './ui/problem.tsx';
import { useAction } from './ui/use-action.ts';
import { useAnswer } from './ui/use-answer.ts';

export function TenantGate({ children }: { readonly children: ComponentChildren }) {
  const { problem, reload } = useAnswer(
    async (signal) => noteTenant((await call('get', '/tenant', { signal })).id),
    '',
  );
  const action = useAction('form');
  if (problem?.status !== 403) return <>{children}</>;
  return (
    <>
      <h1>No tenant yet</h1>
      <div class="card">
        <p>There is no tenant of this sign-in yet. It is made with its API key, and is yours alone.</p>
        {action.problem !== null && <ProblemNote problem={action.problem} />}
        <div class="actions">
          <button
            type="button"
            class="primary"
            disabled={action.isBusy}
            onClick={() =>
              action.run(async () => {
                await call('post', '/auth/provision-tenant');
                reload();
              })
            }
          >
            Make my tenant
          </button>
        </div>
      </div>
    </>
  );
}
