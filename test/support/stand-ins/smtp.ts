// A mail server as the provider `smtp` meets it.

import type { ProviderTraits, StandIn } from '../../contracts/provider.ts';
import { startSmtpSink } from '../smtp-sink.ts';
import { base64 } from './http-stand-in.ts';
import { emailRecipient, emailSender } from './parties.ts';

const apiKey = 'correct horse battery';

const traits: ProviderTraits = {
  channel: 'EMAIL',
  name: 'smtp',
  messageId: /^<notif_0abcdefghjkmnpqrstvwxyz012@example\.com>$/,
  saysRetryAfter: false,
  hasAnswerForm: false,
  wrongKey: null,
  echoes: () => [apiKey, base64(apiKey), base64(`\0mailer\0${apiKey}`)],
};

async function start(): Promise<StandIn> {
  const sink = await startSmtpSink();
  return {
    settings: { apiKey, config: { ...emailSender, host: '127.0.0.1', port: sink.port, user: 'mailer' } },
    recipient: emailRecipient,
    providerUrls: {},
    behave(behaviour, echo) {
      if (behaviour === 'hang') sink.hang();
      if (behaviour === 'bad credentials') sink.refuse({ at: 'login', code: 535, message: 'Authentication failed' });
      if (behaviour === 'bad recipient') sink.refuse({ at: 'recipient', code: 550, message: 'No such user here' });
      if (behaviour === 'throttled') sink.refuse({ at: 'data', code: 454, message: 'Throttling failure' });
      if (behaviour === 'server error') sink.refuse({ at: 'sender', code: 451, message: 'Local error' });
      if (behaviour === 'echo') sink.refuse({ at: 'login', code: 535, message: echo });
    },
    sent: () => sink.mails.length,
    close: sink.close,
  };
}

export const smtpStandIn = { traits, start };
