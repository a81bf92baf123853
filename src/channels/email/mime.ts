// A mail as a mail server takes it (RFC 5322, MIME), by nodemailer's composer.

import type { Mail } from './mail.ts';
import type { Sender } from './sender.ts';
import { headerText } from './sender.ts';

/** Who gets a blind copy isn't in it. @param more what a provider makes itself where it is absent */
export async function compose(
  { to, cc, replyTo, subject, text, html, headers }: Mail,
  { fromName, fromEmail }: Sender,
  more: { readonly messageId?: string; readonly date?: Date },
): Promise<Buffer> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const composer = new MailComposer({
    ...more,
    // As objects: nothing in an address or a name is read as a list of addresses.
    from: { name: fromName, address: fromEmail },
    to: bare(to),
    ...(cc.length > 0 ? { cc: cc.map(bare) } : {}),
    ...(replyTo === null ? {} : { replyTo: bare(replyTo) }),
    subject: headerText(subject),
    ...(text === null ? {} : { text }),
    ...(html === null ? {} : { html }),
    ...(headers === null ? {} : { headers: Object.entries(headers).map(asItStands) }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return await composer.compile().build();
}

function bare(address: string): { name: string; address: string } {
  return { name: '', address };
}

/** Not folded: some readers take the blank of a fold for a part of the address. */
function asItStands([key, value]: readonly [string, string]) {
  return { key, value: { prepared: true, value } };
}
