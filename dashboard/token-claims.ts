// What a bearer token says of its bearer, read and not verified: that is the API's.

export type Claims = Readonly<Record<string, unknown>>;

/** null: it is no JWT. */
export function claimsOf(token: string): Claims | null {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return null;
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === 'object' && claims !== null ? (claims as Claims) : null;
  } catch {
    return null;
  }
}

export function isFor(token: string, audience: string): boolean {
  const { aud } = claimsOf(token) ?? {};
  return aud === audience || (Array.isArray(aud) && aud.includes(audience));
}
