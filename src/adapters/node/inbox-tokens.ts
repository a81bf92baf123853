// Inbox tokens: JWTs (HS256) with an audience of their own, under a key that is derived from ENCRYPTION_SECRET for this alone. So every process of a cluster
// reads what another has made, and a restart ends none; a page can read `exp` off its token. The issuer's tokens are signed by public keys alone
// (api/authenticate.ts), so neither is ever taken for the other.

import { hkdfSync } from 'node:crypto';

import { CompactSign, compactVerify } from 'jose';

import type { TenantId } from '../../domain/ids.ts';
import type { InboxPass, InboxTokens } from '../../ports/inbox-tokens.ts';

/** What is signed. */
interface Claims {
  readonly aud: typeof audience;
  readonly sub: string;
  readonly tenant: TenantId;
  readonly key: string;
  readonly exp: number;
}

const audience = 'herald-inbox';
const alg = 'HS256';
/** 256 characters of a recipient, each up to 6 as JSON writes it, and some 250 of the rest: 2,400 as base64. */
const tokenLengthMax = 3000;

/** @param secrets the first one signs; those of before still hold */
export function createInboxTokens(secrets: readonly [string, ...string[]]): InboxTokens {
  const [current, ...previous] = [keyOf(secrets[0]), ...secrets.slice(1).map(keyOf)] as const;
  return {
    make({ tenantId, recipient, keyHash, expiresAt }) {
      const claims: Claims = {
        aud: audience,
        sub: recipient,
        tenant: tenantId,
        key: keyHash,
        exp: Math.floor(expiresAt / 1000),
      };
      const payload = new TextEncoder().encode(JSON.stringify(claims));
      return new CompactSign(payload).setProtectedHeader({ alg, typ: 'JWT' }).sign(current);
    },
    async read(token) {
      if (token.length > tokenLengthMax) return null;
      for (const key of [current, ...previous]) {
        const claims = await signedBy(key, token);
        if (claims !== null) return passIn(claims);
      }
      return null;
    },
  };
}

function keyOf(secret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, 'herald', 'herald inbox token v1', 32));
}

async function signedBy(key: Uint8Array, token: string): Promise<Claims | null> {
  try {
    const { payload } = await compactVerify(token, key, { algorithms: [alg] });
    // Its signature says that we wrote it.
    return JSON.parse(new TextDecoder().decode(payload)) as Claims;
  } catch {
    return null;
  }
}

function passIn({ aud, sub, tenant, key, exp }: Claims): InboxPass | null {
  return aud === audience ? { tenantId: tenant, recipient: sub, keyHash: key, expiresAt: exp * 1000 } : null;
}
