// The turn of a request that sends nothing: what is asked for again and again, a page for browsers or a tenant's settings, is short, and fifty of them are not.

import type { ThreadTurns } from '../ports/thread-turns.ts';

/** Express, the credentials, the answer's headers, and what the kernel takes of it. */
const requestMs = 0.4;

/** Waits where this turn of the event loop has had its share, or who asks has held the thread for more than a twentieth of late: 125 of a tenant's a second wait for none. */
export async function requestTurn(turns: Pick<ThreadTurns, 'isOver' | 'next' | 'charge'>): Promise<void> {
  if (turns.isOver()) await turns.next();
  turns.charge(requestMs);
}
