// Signing in at the identity provider: an authorization code with PKCE (RFC 7636), by a redirect or, where a page is to be kept, by a window of its own.

import { claimsOf, isFor } from './token-claims.ts';

/** As /dashboard/sign-in.json has it. */
export interface IssuerSignIn {
  readonly kind: 'issuer';
  readonly issuer: string;
  readonly clientId: string;
  readonly scope: string;
  /** Of the tokens that the API takes. */
  readonly audience: string;
}

interface Endpoints {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
}

/** Of a sign-in under way, until the identity provider answers. */
interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Where in the dashboard it began. */
  readonly hash: string;
}

const pendingName = 'herald-sign-in';
const popupPrefix = 'popup-';
const channelName = 'herald-sign-in';
const redirectUri = new URL(location.pathname, location.origin).href;

export async function signInByRedirect(how: IssuerSignIn): Promise<void> {
  const pending = newPending('');
  sessionStorage.setItem(pendingName, JSON.stringify(pending));
  location.assign(await authorizationUrl(how, pending));
}

/** The token. Rejects when the window is closed or can't be opened, or with what the identity provider said. */
export async function signInByPopup(how: IssuerSignIn): Promise<string> {
  const pending = newPending(popupPrefix);
  // Before anything is waited for: browsers open a window for a click alone.
  const popup = open('about:blank', '_blank', 'popup,width=480,height=720');
  if (popup === null) throw new Error('The browser opened no window to sign in: allow it, or paste a token.');
  const answer = answerOfPopup(pending.state);
  popup.location.href = await authorizationUrl(how, pending);
  return tokenOf(how, pending, await answer);
}

/** This is the window, and the identity provider has answered in it. */
export function isPopupAnswer(): boolean {
  return new URLSearchParams(location.search).get('state')?.startsWith(popupPrefix) ?? false;
}

export function passAnswerOn(): void {
  const channel = new BroadcastChannel(channelName);
  channel.postMessage(location.search);
  channel.close();
  close();
}

/** The token of the answer that stands in the address; null: there is none. Rejects with what was wrong. */
export async function finishSignIn(how: IssuerSignIn): Promise<string | null> {
  const answer = new URLSearchParams(location.search);
  if (!answer.has('state')) return null;
  const kept = sessionStorage.getItem(pendingName);
  sessionStorage.removeItem(pendingName);
  const pending = kept === null ? null : (JSON.parse(kept) as Pending);
  history.replaceState(null, '', `${location.pathname}${pending?.hash ?? ''}`);
  if (pending === null) throw new Error('This sign-in was begun elsewhere: begin it again.');
  return tokenOf(how, pending, answer);
}

function newPending(prefix: string): Pending {
  return { state: prefix + randomText(), nonce: randomText(), verifier: randomText(), hash: location.hash };
}

async function authorizationUrl(how: IssuerSignIn, { state, nonce, verifier }: Pending): Promise<string> {
  const { authorization_endpoint: endpoint } = await endpointsOf(how);
  const url = new URL(endpoint);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const parameters = {
    response_type: 'code',
    client_id: how.clientId,
    redirect_uri: redirectUri,
    scope: how.scope,
    // Auth0 and others make tokens for an API that is named so; those that don't know it pass it over.
    audience: how.audience,
    state,
    nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

function answerOfPopup(state: string): Promise<URLSearchParams> {
  const channel = new BroadcastChannel(channelName);
  return new Promise((resolve) => {
    channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      const answer = new URLSearchParams(String(data));
      if (answer.get('state') !== state) return;
      channel.close();
      resolve(answer);
    });
  });
}

async function tokenOf(how: IssuerSignIn, pending: Pending, answer: URLSearchParams): Promise<string> {
  if (answer.get('state') !== pending.state) throw new Error('The answer is to another sign-in: begin it again.');
  const refused = answer.get('error');
  if (refused !== null) throw new Error(`The identity provider refused: ${answer.get('error_description') ?? refused}`);
  const { token_endpoint: endpoint } = await endpointsOf(how);
  const response = await fetch(endpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: answer.get('code') ?? '',
      redirect_uri: redirectUri,
      client_id: how.clientId,
      code_verifier: pending.verifier,
    }),
  });
  const body = (await response.json()) as Readonly<Record<string, unknown>>;
  if (!response.ok)
    throw new Error(`The identity provider gave no token: ${String(body['error_description'] ?? body['error'])}`);
  const { id_token: idToken } = body;
  if (typeof idToken === 'string' && claimsOf(idToken)?.['nonce'] !== pending.nonce)
    throw new Error('The token is of another sign-in: begin it again.');
  const fitting = [body['access_token'], idToken].find(
    (token) => typeof token === 'string' && isFor(token, how.audience),
  );
  if (typeof fitting !== 'string') throw new Error(`The identity provider gave no token for ${how.audience}.`);
  return fitting;
}

async function endpointsOf({ issuer }: IssuerSignIn): Promise<Endpoints> {
  const response = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`).catch(() => {
    throw new Error(`The identity provider can’t be reached: ${issuer}`);
  });
  if (!response.ok) throw new Error(`The identity provider’s configuration can’t be read: ${response.status}`);
  return (await response.json()) as Endpoints;
}

/** 256 bits, 43 characters: what RFC 7636 recommends for a verifier. */
function randomText(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
