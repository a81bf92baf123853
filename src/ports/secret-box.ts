// Secrets at rest: sealed for one purpose of one tenant, opened in memory alone.

import type { Channel } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';

export class SecretBoxError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SecretBoxError';
  }
}

export interface SecretBox {
  /** @param context associated data, e.g. `tnt_...:EMAIL`: the sealed text opens under the same context alone */
  seal(plain: string, context: string): string;
  /** @throws SecretBoxError when it was tampered with, sealed elsewhere, or under another secret */
  open(sealed: string, context: string): string;
}

/** The contexts in use: what is sealed as one kind of secret of one tenant opens as nothing else. */
export const secretContexts = {
  apiKey: (tenantId: TenantId) => `${tenantId}:API_KEY`,
  webhookSecret: (tenantId: TenantId) => `${tenantId}:WEBHOOK_SECRET`,
  /** A provider's key, and the one before it. */
  provider: (tenantId: TenantId, channel: Channel) => `${tenantId}:${channel}`,
};
