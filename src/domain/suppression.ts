// Who is meant by an entry of a tenant's suppression list.

import { asciiAddress } from './email-address.ts';
import type { Channel } from './events.ts';
import type { TenantId } from './ids.ts';
import { eventIdFrom } from './ids.ts';

/** Of a tenant: 4.5 MiB in every process that accepts or delivers, 455 bytes each as measured. */
export const suppressionsMax = 10_000;

/** What its recipients and their servers ask for (unsubscribed, bounced, complained) is refused later than what its people enter: 45 MiB. */
export const suppressionsOfRecipientsMax = 100_000;

/** One form for all ways to write a recipient: of an email address upper and lower case are the same, a domain and its name in ASCII too. */
export function comparedRecipient(channel: Channel, recipient: string): string {
  return channel === 'EMAIL' ? (asciiAddress(recipient) ?? recipient).toLowerCase() : recipient;
}

/** Follows from who is meant: what is suppressed, released and suppressed again has one id. */
export function suppressionIdOf(tenantId: TenantId, channel: Channel, recipient: string): string {
  return `sup_${eventIdFrom('suppression', tenantId, channel, recipient).replaceAll('-', '')}`;
}
