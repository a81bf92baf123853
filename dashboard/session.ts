// Who is signed in: a token, in memory alone (outside production a tab keeps it), and what happens when it ends.

import { computed, signal } from '@preact/signals';

import type { IssuerSignIn } from './oidc.ts';
import { finishSignIn, isPopupAnswer, passAnswerOn, signInByPopup, signInByRedirect } from './oidc.ts';
import { noAnswer, problemOf, shownProblem } from './problem.ts';
import { readAddress } from './router.ts';
import { claimsOf } from './token-claims.ts';
import type { Answer } from './wire.ts';

export type SignIn = IssuerSignIn | { readonly kind: 'token'; readonly keepsToken: boolean };

/** `ended`: somebody was signed in, and the page waits for the next token where it is. */
export type SessionState = 'starting' | 'out' | 'in' | 'ended';

const token = signal<string | null>(null);
export const sessionState = signal<SessionState>('starting');
export const signIn = signal<SignIn | null>(null);
export const signInProblem = signal<string | null>(null);
/** As the token says it; null: it says none. */
export const person = computed(() => {
  const claims = claimsOf(token.value ?? '');
  const { name, email, sub } = claims ?? {};
  return [name, email, sub].find((text) => typeof text === 'string') ?? null;
});

const keptName = 'herald-token';
let keepsToken = false;
let waiting: (() => void)[] = [];
/** Something may be shown, or wait, that is of whoever is signed in. */
let isInUse = false;
/** Whose it is; null: it isn't known. */
let tenantId: string | null = null;

/** What is asked for before anybody is signed in is refused by the API. */
export function tokenInUse(): string {
  return token.value ?? '';
}

/** A token was taken by the API. */
export function noteInUse(): void {
  isInUse = true;
}

export function noteTenant(id: string): void {
  tenantId = id;
}

/** Resolves once there is another token than the one that was refused. Rejects with AbortError. @param reason as the API said it */
export async function tokenAfter(refused: string, reason: string, aborted?: AbortSignal): Promise<void> {
  if (token.value !== null && token.value !== refused) return;
  // Of one that was taken before it is known: it has ended.
  if (!isInUse) signInProblem.value = reason;
  if (sessionState.value === 'in') sessionState.value = 'ended';
  sessionStorage.removeItem(keptName);
  await new Promise<void>((resolve, reject) => {
    waiting.push(resolve);
    aborted?.addEventListener('abort', () => reject(new DOMException('given up', 'AbortError')), { once: true });
  });
}

/** Takes the token of the link that the start of the service has printed (where it prints one), the answer of the identity provider, or the one that the tab has kept. */
export async function startSession(): Promise<void> {
  if (isPopupAnswer()) return passAnswerOn();
  const linked = linkedToken();
  // Out of the address before anything else: it is no place for a token.
  if (linked !== undefined) history.replaceState(null, '', location.pathname);
  addEventListener('hashchange', followLink);
  // Where there is a token the page doesn't wait for how one is got; a tab has one only where it may keep it.
  const kept = linked === undefined ? sessionStorage.getItem(keptName) : null;
  if (kept !== null) await takeToken(kept);
  try {
    signIn.value = await readSignIn();
    keepsToken = signIn.value.kind === 'token' && signIn.value.keepsToken;
    // Elsewhere nobody is given such a link but by somebody who wants them to work as another.
    if (linked !== undefined && keepsToken) await takeToken(linked);
    keep(token.value);
    if (token.value !== null) return;
    const answered = signIn.value.kind === 'issuer' ? await finishSignIn(signIn.value) : null;
    // The page that was asked for before.
    readAddress();
    if (answered !== null) return await takeToken(answered);
  } catch (failure) {
    signInProblem.value = shownProblem(failure)?.message ?? null;
  }
  if (token.value === null) sessionState.value = 'out';
}

function linkedToken(): string | undefined {
  return /^#token=(.+)$/.exec(location.hash)?.[1];
}

/** In a tab that is open: the page begins anew with it, or stays where it is. */
function followLink({ oldURL }: HashChangeEvent): void {
  if (linkedToken() === undefined) return;
  if (keepsToken) location.reload();
  else history.replaceState(null, '', oldURL);
}

function keep(text: string | null): void {
  if (keepsToken && text !== null) sessionStorage.setItem(keptName, text);
  else if (signIn.value !== null) sessionStorage.removeItem(keptName);
}

/** Who waits for it goes on as the same tenant alone: for another one the page begins anew. */
export async function takeToken(text: string): Promise<void> {
  const pasted = text.trim().replace(/^Bearer\s+/i, '');
  if (claimsOf(pasted) === null) {
    signInProblem.value = 'That is no bearer token: it has three parts, with dots between them.';
    return;
  }
  signInProblem.value = null;
  try {
    if (sessionState.value === 'ended' && isInUse && !(await isOfSameTenant(pasted))) {
      keep(pasted);
      return beginAnew();
    }
  } catch (failure) {
    signInProblem.value = shownProblem(failure)?.message ?? null;
    return;
  }
  token.value = pasted;
  keep(pasted);
  sessionState.value = 'in';
  const resumed = waiting;
  waiting = [];
  for (const resume of resumed) resume();
}

async function isOfSameTenant(next: string): Promise<boolean> {
  const asked = { headers: { authorization: `Bearer ${next}` }, cache: 'no-store' } as const;
  const response = await fetch(new URL('api/v1/tenant', document.baseURI), asked).catch(() => {
    throw noAnswer();
  });
  // There is none of it yet.
  if (response.status === 403) return false;
  if (!response.ok) throw problemOf(response.status, await response.text(), null);
  return ((await response.json()) as Answer<'/tenant', 'get'>).id === tenantId;
}

/** At the identity provider: in a window of its own where there is a page to keep. */
export async function signInAtIssuer(): Promise<void> {
  const how = signIn.value;
  if (how?.kind !== 'issuer') return;
  signInProblem.value = null;
  try {
    if (sessionState.value === 'ended') await takeToken(await signInByPopup(how));
    else await signInByRedirect(how);
  } catch (failure) {
    signInProblem.value = shownProblem(failure)?.message ?? null;
  }
}

export function signOut(): void {
  sessionStorage.removeItem(keptName);
  beginAnew();
}

/** Forgets all that was shown to whoever was signed in. */
function beginAnew(): void {
  location.replace(location.pathname);
}

async function readSignIn(): Promise<SignIn> {
  const response = await fetch(new URL('dashboard/sign-in.json', document.baseURI));
  if (!response.ok) throw problemOf(response.status, await response.text(), null);
  return (await response.json()) as SignIn;
}
