// The outside world of an end-to-end test: a webhook receiver, a mail server, and stand-ins of Resend and Twilio, all on loopback.

import type { HttpSink, Respond } from './http-sink.ts';
import { startHttpSink } from './http-sink.ts';
import type { Environment, Herald } from './herald.ts';
import type { SmtpSink } from './smtp-sink.ts';
import { startSmtpSink } from './smtp-sink.ts';

export interface DeliveryWorld {
  readonly webhooks: HttpSink;
  readonly sms: HttpSink;
  readonly mail: SmtpSink;
  readonly environment: Environment;
  /** Saves SMTP and Twilio as the demo tenant's providers. */
  configure(herald: Herald): Promise<void>;
  close(): Promise<void>;
}

const twilioAnswer: Respond = (_, response) => {
  response.writeHead(201, { 'content-type': 'application/json' });
  response.end('{"sid":"SM00000000000000000000000000000001","status":"queued","error_code":null}');
};

export async function startDeliveryWorld(respond?: Respond): Promise<DeliveryWorld> {
  const webhooks = await startHttpSink(respond === undefined ? {} : { respond });
  const sms = await startHttpSink({ respond: twilioAnswer });
  const mail = await startSmtpSink();
  return {
    webhooks,
    sms,
    mail,
    environment: {
      OUTBOUND_ALLOW: '127.0.0.1/32',
      PROVIDER_URLS: JSON.stringify({ twilio: sms.url }),
      RATE_LIMIT: '1000000/10s',
    },
    async configure(herald) {
      const sender = { fromName: 'Ada Shop', fromEmail: 'shop@example.com' };
      const smtp = { ...sender, host: '127.0.0.1', port: mail.port, secure: false, user: 'shop' };
      const saved = [
        await herald.dashboard('POST', '/providers', {
          channel: 'EMAIL',
          provider: 'smtp',
          apiKey: 'smtp-password-of-the-shop',
          config: smtp,
          enabled: true,
        }),
        await herald.dashboard('POST', '/providers', {
          channel: 'SMS',
          provider: 'twilio',
          apiKey: 'twilio-token-of-the-shop-0123456',
          config: { from: '+15005550006', accountSid: 'AC00000000000000000000000000000001' },
          enabled: true,
        }),
      ];
      for (const { status, body } of saved)
        if (status !== 200) throw new Error(`a provider was not saved: ${JSON.stringify(body)}`);
    },
    close: async () => {
      await Promise.all([webhooks.close(), sms.close(), mail.close()]);
    },
  };
}
