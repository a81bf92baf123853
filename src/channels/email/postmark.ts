// EMAIL `postmark`: POST /email, by the server's default transactional stream.
// https://postmarkapp.com/developer/api/email-api, https://postmarkapp.com/developer/api/overview#error-codes
//
// There is no idempotency key: a repeat after an answer that never came may be a second mail. It carries the same `Metadata.notificationId`.
// Neither a limit of requests nor a header of a 429 is documented: Retry-After is read, should it be there.

import { z } from 'zod';

import { postmarkCallbacks } from '../callbacks/postmark.ts';
import type { Answer, Fault, HttpProviderDependencies, Verdict } from '../http-provider.ts';
import { faultOfStatus, httpProvider, isSuccess } from '../http-provider.ts';
import type { ListedProvider } from '../settings-check.ts';
import { headerKey, providerConfig } from '../settings-check.ts';
import { mailOf } from './mail.ts';
import { senderFields, senderText } from './sender.ts';

export function postmark(dependencies: HttpProviderDependencies): ListedProvider {
  return httpProvider(
    {
      channel: 'EMAIL',
      name: 'postmark',
      label: 'Postmark',
      config: providerConfig(senderFields),
      apiKey: headerKey.meta({
        title: 'Server API token',
        description: "From the API Tokens tab of Postmark's server.",
      }),

      callbacks: postmarkCallbacks,

      call({ delivery, config, apiKey, key }, baseUrl = 'https://api.postmarkapp.com') {
        const { to, cc, bcc, replyTo, subject, text, html, headers } = mailOf(delivery, config);
        const mail = {
          From: senderText(config),
          To: to,
          ...(cc.length > 0 ? { Cc: cc.join(', ') } : {}),
          ...(bcc.length > 0 ? { Bcc: bcc.join(', ') } : {}),
          ...(replyTo === null ? {} : { ReplyTo: replyTo }),
          Subject: subject,
          ...(text === null ? {} : { TextBody: text }),
          ...(html === null ? {} : { HtmlBody: html }),
          ...(headers === null ? {} : { Headers: Object.entries(headers).map(([Name, Value]) => ({ Name, Value })) }),
          Metadata: { notificationId: key },
        };
        return {
          url: `${baseUrl}/email`,
          headers: { 'x-postmark-server-token': apiKey, 'content-type': 'application/json' },
          body: JSON.stringify(mail),
        };
      },

      read,
    },
    dependencies,
  );
}

const success = z.object({
  ErrorCode: z.literal(0),
  MessageID: z.string().min(1),
  To: z.string().nullish(),
  Message: z.string().nullish(),
});
const failure = z.object({ ErrorCode: z.int(), Message: z.string() });

function read(answer: Answer): Verdict {
  const { status, body, json } = answer;
  if (isSuccess(answer)) {
    const taken = success.safeParse(json);
    if (!taken.success) return { kind: 'malformed' };
    const { MessageID: messageId, To: to, Message: message } = taken.data;
    // The copies have it then: the mail is judged by its recipient.
    return inactiveIn(message ?? '').includes((to ?? '').toLowerCase())
      ? { kind: 'refused', fault: 'recipient', code: String(inactiveRecipient), message: message ?? '' }
      : { kind: 'taken', messageId };
  }
  const failed = failure.safeParse(json).data;
  if (failed === undefined) {
    return { kind: 'refused', fault: faultOfStatus(status), code: String(status), message: body };
  }
  const { ErrorCode: code, Message: message } = failed;
  return { kind: 'refused', fault: faultOf(status, code, message), code: String(code), message };
}

/**
 * "Message OK, but will not deliver to these inactive addresses: ada@example.org, bo@example.org. Inactive recipients are ones that ...": what a mail for
 * several gets, in lower case whatever was sent. Not in the documentation of the API; its own libraries read it:
 * https://github.com/ActiveCampaign/postmark.js, src/client/errors/Errors.ts
 */
function inactiveIn(message: string): readonly string[] {
  const list = /these inactive addresses: ([^\s,]+(?:, ?[^\s,]+)*)/i.exec(message)?.[1];
  return list === undefined ? [] : list.replace(/\.$/, '').toLowerCase().split(/, ?/);
}

/** 100 maintenance, 429 rate limit; these pass whatever status they come with. */
const passing = new Set([100, 429]);

/** 10 token; 400 and 401 sender signature; 405 no credits left; 412 and 413 account pending or stopped; 1235 stream that the server doesn't have. */
const credentials = new Set([10, 400, 401, 405, 412, 413, 1235]);

const inactiveRecipient = 406;
/** An invalid request, its message says of what: "Error parsing 'To': Illegal email domain ...", "Invalid 'From' address: ...". */
const invalidRequest = 300;

function faultOf(status: number, code: number, message: string): Fault {
  const byStatus = faultOfStatus(status);
  if (byStatus === 'passing' || passing.has(code)) return 'passing';
  if (credentials.has(code)) return 'credentials';
  if (code === inactiveRecipient) return 'recipient';
  if (code !== invalidRequest) return byStatus;
  if (/'From'|\bFrom\b field/.test(message)) return 'credentials';
  return /'(?:To|Cc|Bcc)'|\b(?:To|Cc|Bcc)\b field|recipients? specified/i.test(message) ? 'recipient' : 'content';
}
