// The table of contents of the channels: every provider is one line here and one file beside it.

import type { Channel } from '../domain/events.ts';
import { channels } from '../domain/events.ts';
import type { Clock } from '../ports/clock.ts';
import type { Outbound } from '../ports/outbound.ts';
import type { ChannelProviders, Provider, ProviderCatalog, ProviderRegistry } from '../ports/provider-registry.ts';
import { catalogEntry } from './catalog.ts';
import { mailgun } from './email/mailgun.ts';
import { postmark } from './email/postmark.ts';
import { resend } from './email/resend.ts';
import { sendgrid } from './email/sendgrid.ts';
import { ses } from './email/ses.ts';
import { smtp } from './email/smtp.ts';
import { inbox } from './in-app/inbox.ts';
import type { ListedProvider } from './settings-check.ts';
import { messagebird } from './sms/messagebird.ts';
import { plivo } from './sms/plivo.ts';
import { sns } from './sms/sns.ts';
import { twilio } from './sms/twilio.ts';
import { vonage } from './sms/vonage.ts';
import { customWebhook } from './webhook/custom.ts';

export interface ProviderRegistryDependencies {
  readonly outbound: Outbound;
  readonly clock: Clock;
  /** Base addresses other than the providers' own, by name: `{ resend: 'http://127.0.0.1:9000' }`. */
  readonly providerUrls: Readonly<Record<string, string>>;
}

export function createProviderRegistry(dependencies: ProviderRegistryDependencies): ProviderRegistry & ProviderCatalog {
  const { outbound, clock, providerUrls } = dependencies;
  const at = (name: string) => ({ outbound, clock, baseUrl: providerUrls[name]?.replace(/\/+$/, '') });

  const listed: readonly ListedProvider[] = [
    smtp({ outbound, clock }),
    resend(at('resend')),
    ses(at('ses')),
    sendgrid(at('sendgrid')),
    postmark(at('postmark')),
    mailgun(at('mailgun')),
    twilio(at('twilio')),
    vonage(at('vonage')),
    messagebird(at('messagebird')),
    sns(at('sns')),
    plivo(at('plivo')),
    customWebhook({ outbound, clock }),
  ];
  const providers: readonly Provider[] = [...listed, inbox()];

  const byChannel = Map.groupBy(providers, ({ channel }) => channel);
  const find = (channel: Channel, name: string): Provider | null =>
    byChannel.get(channel)?.find((provider) => provider.name === name) ?? null;
  const builtIn = new Map([
    ['WEBHOOK', find('WEBHOOK', 'custom')],
    ['IN_APP', find('IN_APP', 'inbox')],
  ]);

  const entryOf = (channel: Channel): ChannelProviders => ({
    channel,
    required: !builtIn.has(channel),
    providers: listed.filter((provider) => provider.channel === channel).map(catalogEntry),
  });
  let catalog: readonly ChannelProviders[] | null = null;

  return {
    find,
    builtIn: (channel) => builtIn.get(channel) ?? null,
    names: (channel) => (byChannel.get(channel) ?? []).map(({ name }) => name),
    catalog: () => (catalog ??= channels.map(entryOf)),
  };
}
