// The bearer token in use: kept until it is refused or nearly over, then asked for once more, however many calls need it.

/** Asked for a token, and for another once one is refused or nearly over. @param last the one in use; null the first time */
export type TokenSource = (last: string | null) => string | Promise<string>;

interface Held {
  readonly token: Promise<string>;
  /** UTC ms. */
  renewAt: number;
}

/** Before a token's end, at most; a fifth of what it lasts, where that is less. */
const renewBeforeMs = 60_000;

export function holdToken(source: string | TokenSource | undefined) {
  let held: Held | null = null;

  const ask = (asking: Promise<string>): Held => {
    const asked: Held = { token: asking, renewAt: Infinity };
    asked.token.then(
      (token) => {
        const endsAt = endOf(token);
        asked.renewAt = endsAt - Math.min(renewBeforeMs, (endsAt - Date.now()) / 5);
      },
      // The next call asks again.
      () => {
        if (held === asked) held = null;
      },
    );
    return asked;
  };

  return {
    /** null: there is none to be had. */
    async now(): Promise<string | null> {
      if (typeof source !== 'function') return source ?? null;
      const inUse = (held ??= ask(tokenOf(source, null)));
      const current = await inUse.token;
      if (Date.now() <= inUse.renewAt) return current;
      // Where another one can't be had the one in use is kept, and asked about again after four fifths of what is left of it.
      if (held === inUse) held = ask(tokenOf(source, current).catch(() => current));
      return held?.token ?? current;
    },

    /** Whether another one can be asked for now that this one was refused; of many calls that it was refused to one asks. */
    async isRenewed(refused: string): Promise<boolean> {
      if (typeof source !== 'function') return false;
      if (held === null || (await held.token.catch(() => refused)) === refused) held = ask(tokenOf(source, refused));
      return true;
    },
  };
}

function tokenOf(source: TokenSource, last: string | null): Promise<string> {
  return Promise.resolve(last).then(source).then(asToken);
}

/** A backend in trouble answers a page or a sentence: kept as the token it would stand in the way of the next one. https://www.rfc-editor.org/rfc/rfc6750#section-2.1 */
function asToken(given: string): string {
  if (!/^[\w.~+/-]+=*$/.test(given.trim())) throw new Error('What was given is no bearer token.');
  return given;
}

/** Of a JWT, UTC ms; Infinity: it doesn't say. */
export function endOf(token: string): number {
  const exp = claimsOf(token)['exp'];
  return typeof exp === 'number' ? exp * 1000 : Infinity;
}

/** What a JWT says, unchecked: that is the service's part. Nothing where it is none. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const bytes = Uint8Array.from(
      atob((token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')),
      (character) => character.charCodeAt(0),
    );
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === 'object' && claims !== null ? { ...claims } : {};
  } catch {
    return {};
  }
}
