// Where providers report to: one address for each tenant and provider, which nobody can guess.

import type { TenantId } from '../domain/ids.ts';

export interface CallbackAddresses {
  /** null: the service isn't told by which address it is reached. */
  urlOf(tenantId: TenantId, provider: string): string | null;
  /** Whose token it is; null: nobody's, or one for another provider. */
  tenantOf(provider: string, token: string): TenantId | null;
  /** The address that a token of one's stands in, without a query; null as with `urlOf`. */
  urlOfToken(provider: string, token: string): string | null;
}
