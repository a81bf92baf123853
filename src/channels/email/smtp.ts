// EMAIL `smtp`: the tenant's own mail server, by nodemailer's SMTP client and MIME composer.
//
// Replies by RFC 5321 4.2 (4yz passes, 5yz does not) and the command that they answer; enhanced codes by RFC 3463, login by RFC 4954.

import { z } from 'zod';

import type { DeliveryOutcome } from '../../domain/delivery-outcome.ts';
import type { FailureClass } from '../../domain/events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Outbound } from '../../ports/outbound.ts';
import { OutboundError } from '../../ports/outbound.ts';
import type { DeliveryContext } from '../../ports/provider-registry.ts';
import { attemptKey, notReached, refused } from '../outcomes.ts';
import type { ListedProvider } from '../settings-check.ts';
import { oneLine, providerConfig, settingsOf } from '../settings-check.ts';
import { mailOf } from './mail.ts';
import { compose } from './mime.ts';
import { senderFields } from './sender.ts';
import { createSmtpConnections } from './smtp-connections.ts';

const smtpConfig = providerConfig({
  ...senderFields,
  host: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,253}$/, 'must be a host name or an address')
    .describe('The mail server, e.g. smtp.example.com.'),
  port: z.int().min(1).max(65_535).default(587).describe('587 for STARTTLS, 465 with `secure`.'),
  secure: z
    .boolean()
    .default(false)
    .describe('TLS from the first byte; without it STARTTLS is used when it is offered.'),
  heloName: z
    .string()
    .regex(
      /^(?:[A-Za-z0-9-]{1,63}\.){1,16}[A-Za-z0-9-]{1,63}$|^\[[0-9A-Za-z.:]{2,60}\]$/,
      'must be a host name with a dot, or an address in brackets',
    )
    .optional()
    .describe('The name in EHLO. Without it the domain of fromEmail.'),
  user: oneLine(256).optional().describe('The login; the password goes into apiKey. Without it there is no login.'),
});

const password = oneLine(512).meta({ title: 'Password', description: 'The password of the login.' });

export function smtp(dependencies: { readonly outbound: Outbound; readonly clock: Clock }): ListedProvider {
  const connections = createSmtpConnections(dependencies.outbound);

  return {
    channel: 'EMAIL',
    name: 'smtp',
    ...settingsOf('SMTP server', smtpConfig, password),

    async send(delivery, context) {
      const config = smtpConfig.parse(context.provider?.config);
      const { host, port, secure, user = null } = config;
      const domain = config.fromEmail.slice(config.fromEmail.lastIndexOf('@') + 1);
      const server = {
        tenantId: delivery.tenantId,
        host,
        port,
        secure,
        heloName: config.heloName ?? domain,
        user,
        password: context.provider?.apiKey ?? '',
      };
      const messageId = `<${attemptKey(delivery)}@${domain}>`;
      const mail = mailOf(delivery, config);
      const message = await compose(mail, config, { messageId, date: new Date(dependencies.clock.now()) });
      const envelope = { from: config.fromEmail, to: [mail.to, ...mail.cc, ...mail.bcc] };
      try {
        await connections.send(server, { ...envelope, message }, context.signal);
        return { kind: 'delivered', messageId };
      } catch (error) {
        return outcomeOf(error, context);
      }
    },
  };
}

interface SmtpError {
  readonly code?: string;
  readonly responseCode?: number;
  readonly response?: string;
  readonly command?: string;
  readonly message: string;
}

function outcomeOf(error: unknown, context: DeliveryContext): DeliveryOutcome {
  if (error instanceof OutboundError) return notReached(error, context);
  const { code, responseCode, response, command, message } = error as SmtpError;
  if (code === undefined) throw error;
  if (responseCode === undefined) return withoutReply(code, message, context);
  // A server that refuses the whole session has seen nothing of the mail, whatever it says: 554 in its greeting is "no SMTP service here" (RFC 5321 3.1).
  const isUnseen = command !== undefined && sessionCommands.has(command);
  const retryable = isUnseen || responseCode < 500;
  const failureClass = retryable
    ? passingClassOf(responseCode, command ?? '', response ?? '')
    : classOf(responseCode, code, command ?? '', response ?? '');
  const text = `The mail server answered ${command ?? ''}: ${response ?? message}`;
  return refused({ failureClass, retryable, code: String(responseCode), message: text }, context);
}

/** CONN: its greeting, or what it says as it closes the connection by itself. */
const sessionCommands: ReadonlySet<string> = new Set(['CONN', 'EHLO', 'HELO']);

function withoutReply(code: string, message: string, context: DeliveryContext): DeliveryOutcome {
  const failureClass = localRefusals.get(code);
  if (failureClass !== undefined) return refused({ failureClass, retryable: false, code, message }, context);
  return refused({ failureClass: 'network', retryable: true, code, message }, context);
}

/** What nodemailer itself refuses: an address that can't be sent, a mail over the server's SIZE, a login that the server has no method for. */
const localRefusals = new Map<string, FailureClass>([
  ['EENVELOPE', 'recipient'],
  ['EMESSAGE', 'content'],
  ['EAUTH', 'credentials'],
]);

/**
 * At RCPT TO it is about the recipient (greylisted, over quota, a domain that isn't found now) but for 421, which ends the session, x.3.x, the mail system,
 * and what is about the client or the sender.
 */
function passingClassOf(responseCode: number, command: string, response: string): FailureClass {
  const isOfServer = responseCode === 421 || /^4\d\d[ -]4\.(?:3\.|1\.[78]\b)/.test(response) || isOfSession(response);
  return command === 'RCPT TO' && !isOfServer ? 'recipient' : 'provider';
}

/**
 * Postfix keeps what it has against the client, its name or the sender until RCPT TO (https://www.postfix.org/postconf.5.html#smtpd_delay_reject), and a
 * server that relays for logins alone says so there. What it was told by the recipient's own server (an address that it has verified) stays the recipient's.
 */
function isOfSession(response: string): boolean {
  return !/recipient address rejected(?!: relay)/i.test(response) && sessionRefusal.test(response);
}

const sessionRefusal =
  /\b(?:sender address|client host|helo command) rejected|\bclient host \[[^\]]{0,64}\] blocked|\brelay(?:ing)?(?: access)? (?:denied|not (?:permitted|allowed))|\bunable to relay\b/i;

/** 530, 534, 535 and 538 ask for another login; ETLS: the server has no STARTTLS, and no password goes out in the clear. */
const loginCodes = new Set([530, 534, 535, 538]);

function classOf(responseCode: number, code: string, command: string, response: string): FailureClass {
  if (code === 'EAUTH' || code === 'ETLS' || loginCodes.has(responseCode)) return 'credentials';
  // 5.1.7 and 5.1.8 are about the sender's address, which belongs to the settings.
  if (/\b5\.1\.[78]\b/.test(response)) return 'credentials';
  // Also a mailbox that is full (552), and a server that doesn't take mail for it (554).
  if (command === 'RCPT TO') return isOfSession(response) ? 'credentials' : 'recipient';
  if (responseCode === 552 || responseCode === 554 || command === 'DATA') return 'content';
  return command === 'MAIL FROM' ? 'credentials' : 'provider';
}
