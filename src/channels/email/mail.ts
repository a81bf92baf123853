// A delivery as a mail: who it goes to and comes from, its subject, and its body in the forms that readers take. Every email provider sends this.

import { asciiAddress } from '../../domain/email-address.ts';
import type { Delivery } from '../../ports/provider-registry.ts';
import { plainText } from './plain-text.ts';

/** Addresses in ASCII, each once. */
export interface Mail {
  readonly to: string;
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  /** The request's own, else the provider's; null: answers go to the sender. */
  readonly replyTo: string | null;
  readonly subject: string;
  /** null: an HTML body that says nothing without its pictures. */
  readonly text: string | null;
  readonly html: string | null;
  /** Headers by which mail programs offer to unsubscribe (RFC 2369, RFC 8058); null: it has none. */
  readonly headers: Readonly<Record<string, string>> | null;
}

interface Settings {
  readonly replyTo?: string | undefined;
  readonly unsubscribeUrl?: string | undefined;
}

/** @param sender the provider's config */
export function mailOf(delivery: Delivery, sender: Settings): Mail {
  const { recipient, request } = delivery;
  const { subject, body, bodyFormat, cc = [], bcc = [], replyTo = null } = request;
  const to = asciiAddress(recipient) ?? recipient;
  // Some APIs refuse a mail that names somebody twice.
  const named = new Set([to.toLowerCase()]);
  const isHtml = bodyFormat === 'html';
  return {
    to,
    cc: copies(cc, named),
    bcc: copies(bcc, named),
    replyTo: asciiAddress(replyTo ?? sender.replyTo ?? ''),
    subject: (subject ?? '').replaceAll(/[\r\n]+/g, ' '),
    text: isHtml ? plainText(body) : body,
    html: isHtml ? body : null,
    headers: unsubscribeHeaders(delivery, sender),
  };
}

/** Those that aren't named yet. What isn't one plain address doesn't go out, however it got here. */
function copies(addresses: readonly string[], named: Set<string>): string[] {
  const kept: string[] = [];
  for (const given of addresses) {
    const address = asciiAddress(given);
    const key = address?.toLowerCase();
    if (address === null || key === undefined || named.has(key)) continue;
    named.add(key);
    kept.push(address);
  }
  return kept;
}

/** Both are to be covered by the mail's DKIM signature (RFC 8058 4), which is made by whoever sends it: the tenant's server or provider. */
function unsubscribeHeaders(
  { unsubscribe, recipient, notificationId }: Delivery,
  { unsubscribeUrl }: Settings,
): Mail['headers'] {
  if (unsubscribe === undefined) return null;
  const values: Readonly<Record<string, string>> = { recipient, notificationId };
  const own = unsubscribeUrl?.replaceAll(/\{(recipient|notificationId)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? ''),
  );
  const url = own ?? unsubscribe.url;
  if (url === null) return null;
  return { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
}
