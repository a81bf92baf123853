// Signing in: at the identity provider, or with a token that is pasted.

import { useState } from 'preact/hooks';

import { signIn, signInAtIssuer, signInProblem, takeToken } from './session.ts';
import { Field } from './ui/field.tsx';

export function SignInPage({ isDialog = false }: { readonly isDialog?: boolean }) {
  const how = signIn.value;
  const form = (
    <>
      {signInProblem.value !== null && (
        <p class="problem" role="alert">
          {signInProblem.value}
        </p>
      )}
      {how?.kind === 'issuer' && (
        <>
          <button type="button" class="primary" onClick={() => void signInAtIssuer()}>
            Sign in
          </button>
          <details>
            <summary>Use a token instead</summary>
            <TokenForm />
          </details>
        </>
      )}
      {how?.kind === 'token' && <TokenForm />}
      {how?.kind === 'token' && how.keepsToken && (
        <p class="note">
          A link that signs in stands where the service was started. Or make a token:{' '}
          <code>npm run -s herald -- token</code>
        </p>
      )}
      {how?.kind === 'token' && !how.keepsToken && (
        <p class="note">A token of your identity provider, for this service. It is kept in this page alone.</p>
      )}
    </>
  );
  if (isDialog) return <div class="sign-in">{form}</div>;
  return (
    <main class="sign-in-page">
      <h1>Herald</h1>
      <div class="sign-in card">{form}</div>
    </main>
  );
}

function TokenForm() {
  const [text, setText] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void takeToken(text);
      }}
    >
      <Field label="Bearer token">
        {(id) => (
          <input
            id={id}
            type="password"
            required
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        )}
      </Field>
      <button type="submit">Sign in with it</button>
    </form>
  );
}
