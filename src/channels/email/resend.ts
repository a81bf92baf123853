// EMAIL `resend`: POST /emails with an Idempotency-Key, so that a repeat within 24 h is not sent twice.
// https://resend.com/docs/api-reference/emails/send-email, https://resend.com/docs/api-reference/errors

import { z } from 'zod';

import { isRetryableStatus } from '../../domain/delivery-outcome.ts';
import { notificationIdField } from '../callbacks/reading.ts';
import { resendCallbacks } from '../callbacks/resend.ts';
import type { Answer, Fault, HttpProviderDependencies, Verdict } from '../http-provider.ts';
import { httpProvider, isSuccess } from '../http-provider.ts';
import type { ListedProvider } from '../settings-check.ts';
import { headerKey, providerConfig } from '../settings-check.ts';
import { mailOf } from './mail.ts';
import { senderFields, senderText } from './sender.ts';

export function resend(dependencies: HttpProviderDependencies): ListedProvider {
  return httpProvider(
    {
      channel: 'EMAIL',
      name: 'resend',
      label: 'Resend',
      config: providerConfig(senderFields),
      apiKey: headerKey.meta({ title: 'API key', description: 'An API key with sending access; begins with re_.' }),

      callbacks: resendCallbacks,

      call({ delivery, config, apiKey, key }, baseUrl = 'https://api.resend.com') {
        const { to, cc, bcc, replyTo, subject, text, html, headers } = mailOf(delivery, config);
        const mail = {
          from: senderText(config),
          to: [to],
          ...(cc.length > 0 ? { cc } : {}),
          ...(bcc.length > 0 ? { bcc } : {}),
          ...(replyTo === null ? {} : { reply_to: replyTo }),
          subject,
          // Without it Resend makes one of its own.
          ...(text === null ? {} : { text }),
          ...(html === null ? {} : { html }),
          ...(headers === null ? {} : { headers }),
          // Its webhooks bring it back; a round's number would be no tag.
          tags: [{ name: notificationIdField, value: delivery.notificationId }],
        };
        return {
          url: `${baseUrl}/emails`,
          headers: {
            authorization: `Bearer ${apiKey}`,
            'content-type': 'application/json',
            'idempotency-key': key,
          },
          body: JSON.stringify(mail),
        };
      },

      read,
    },
    dependencies,
  );
}

const success = z.object({ id: z.string().min(1) });
const failure = z.object({ name: z.string(), message: z.string() });

function read(answer: Answer): Verdict {
  const { status, body, json } = answer;
  if (isSuccess(answer)) {
    const taken = success.safeParse(json);
    return taken.success ? { kind: 'taken', messageId: taken.data.id } : { kind: 'malformed' };
  }
  const { name, message } = failure.safeParse(json).data ?? { name: '', message: body };
  return {
    kind: 'refused',
    fault: faultOf(status, name, message),
    code: name === '' ? String(status) : name,
    message,
  };
}

/** By the names of the errors page; its 429 (rate, daily and monthly quota) and 5xx pass with time. */
function faultOf(status: number, name: string, message: string): Fault {
  // The key was used with another content: that one has been taken, and a repeat gets the same answer.
  if (name === 'invalid_idempotent_request') return 'content';
  if (isRetryableStatus(status)) return 'passing';
  // 401 and 403: no key, a wrong one, one without the right, a domain that is not verified.
  if (status === 401 || status === 403 || name === 'invalid_from_address') return 'credentials';
  // A key that is wrong or has expired comes with 400 by now, named as any field that is wrong.
  if (name === 'validation_error' && /\bAPI key\b/i.test(message)) return 'credentials';
  if (status === 404 || status === 405) return 'provider';
  if (/`?\b(?:to|cc|bcc)\b`? field/i.test(message)) return 'recipient';
  return /`?\bfrom\b`? field/i.test(message) ? 'credentials' : 'content';
}
