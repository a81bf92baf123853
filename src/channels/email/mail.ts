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
}

/** @param sender the provider's config */
export function mailOf(delivery: Delivery, sender: { readonly replyTo?: string | undefined }): Mail {
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
