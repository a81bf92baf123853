// Tokens that a browser may hold: each opens one recipient's inbox for a while, and says by itself whose.

import type { TenantId } from '../domain/ids.ts';

/** What a token says. */
export interface InboxPass {
  readonly tenantId: TenantId;
  readonly recipient: string;
  /** Of the API key that it was made with: without that key it opens nothing. As ApiKeys.hash has it. */
  readonly keyHash: string;
  /** UTC ms, whole seconds. */
  readonly expiresAt: number;
}

export interface InboxTokens {
  make(pass: InboxPass): Promise<string>;
  /** One that has ended is read as well. null: it was made by nobody who may. */
  read(token: string): Promise<InboxPass | null>;
}

/** A page that is open for a day asks for another. */
export const inboxTokenSecondsMax = 86_400;
