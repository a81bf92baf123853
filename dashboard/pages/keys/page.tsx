// API keys: the main one, and further ones with scopes, each shown whole once.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { visible } from '../../format.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { Time } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { say } from '../../ui/toasts.tsx';
import { useAction } from '../../ui/use-action.ts';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Key } from '../../wire.ts';
import { MainKey } from './main-key.tsx';
import { NewKey } from './new-key.tsx';

export function KeysPage() {
  const { value: keys, problem, reload } = useAnswer((signal) => call('get', '/keys', { signal }), '');
  const [isMaking, setIsMaking] = useState(false);
  return (
    <>
      <div class="head">
        <h1>API keys</h1>
        <button type="button" class="primary" onClick={() => setIsMaking(true)}>
          New key
        </button>
      </div>
      <MainKey />
      <section class="stack">
        <h2>Further keys</h2>
        {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
        {keys?.length === 0 && (
          <div class="card empty">
            <p>None yet. A key of its own for each program can be taken away by itself.</p>
          </div>
        )}
        {keys !== null && keys.length > 0 && <KeyTable keys={keys} onChange={reload} />}
      </section>
      {isMaking && <NewKey onMade={reload} onClose={() => setIsMaking(false)} />}
    </>
  );
}

function KeyTable({ keys, onChange }: { readonly keys: readonly Key[]; readonly onChange: () => void }) {
  const [revoked, setRevoked] = useState<Key | null>(null);
  const action = useAction('toast');
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Begins with</th>
            <th scope="col">May</th>
            <th scope="col">Last used</th>
            <th scope="col">Made</th>
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <td>
                <bdi>{visible(key.name)}</bdi>
              </td>
              <td class="mono">{key.prefix}…</td>
              <td>{key.scopes.join(', ')}</td>
              <td>{key.lastUsedAt === null ? 'never' : <Time at={key.lastUsedAt} form="relative" />}</td>
              <td>
                <Time at={key.createdAt} />
              </td>
              <td>
                <button type="button" class="small danger" disabled={action.isBusy} onClick={() => setRevoked(key)}>
                  Revoke<span class="hidden"> {visible(key.name)}</span>
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {revoked !== null && (
        <Confirm
          title={`Revoke ${revoked.name}?`}
          action="Revoke it"
          onClose={() => setRevoked(null)}
          onConfirm={() =>
            action.run(async () => {
              await call('delete', '/keys/{id}', { params: { id: revoked.id } });
              say(`${revoked.name} is revoked.`);
              onChange();
            })
          }
        >
          <p>Whatever uses it gets 401 within 5 s.</p>
        </Confirm>
      )}
    </div>
  );
}
