// The addresses by which recipients of mails take themselves off: each says by itself whom it means, and nobody else can make one.

import type { NotificationId, TenantId } from '../domain/ids.ts';

/** Of a mail: whose it is, who got it. */
export interface Unsubscriber {
  readonly tenantId: TenantId;
  readonly notificationId: NotificationId;
  readonly recipient: string;
}

export interface UnsubscribeLinks {
  /** The same for every try of a mail; null: it isn't known under which address this service is reached. */
  urlOf(of: Unsubscriber): string | null;
  /** Whom a token of such an address means; null: it was made by nobody who may. */
  read(token: string): Unsubscriber | null;
}
