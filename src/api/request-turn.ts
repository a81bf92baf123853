// The turn of a request that sends nothing: what is asked for again and again, a page for browsers or a tenant's settings, is short, and fifty of them are not.

import type { TenantId } from '../domain/ids.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';

/** Express, the credentials, the answer's headers, and what the kernel takes of it. */
const requestMs = 0.4;

/**
 * While another tenant is about: waits where this turn of the event loop has had its share, unless who asks has held the thread for less than a twentieth of
 * late, as 125 such requests a second do.
 * @param tenantId null: of nobody that is known
 */
export async function requestTurn(
  turns: Pick<ThreadTurns, 'isShared' | 'isOver' | 'next' | 'charge'>,
  tenantId: TenantId | null,
): Promise<void> {
  if (turns.isShared(tenantId) && turns.isOver()) await turns.next();
  turns.charge(requestMs);
}
