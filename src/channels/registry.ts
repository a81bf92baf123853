// The table of contents of the channels: every provider is one line here and one file beside it.

import type { Channel } from '../domain/events.ts';
import type { Clock } from '../ports/clock.ts';
import type { Outbound } from '../ports/outbound.ts';
import type { Provider, ProviderRegistry } from '../ports/provider-registry.ts';
import { resend } from './email/resend.ts';
import { ses } from './email/ses.ts';
import { smtp } from './email/smtp.ts';
import { inbox } from './in-app/inbox.ts';
import { twilio } from './sms/twilio.ts';
import { customWebhook } from './webhook/custom.ts';

export interface ProviderRegistryDependencies {
  readonly outbound: Outbound;
  readonly clock: Clock;
  /** Base addresses other than the providers' own, by name: `{ resend: 'http://127.0.0.1:9000' }`. */
  readonly providerUrls: Readonly<Record<string, string>>;
}

export function createProviderRegistry(dependencies: ProviderRegistryDependencies): ProviderRegistry {
  const { outbound, clock, providerUrls } = dependencies;
  const baseUrl = (name: string): string | undefined => providerUrls[name]?.replace(/\/+$/, '');

  const providers: readonly Provider[] = [
    smtp({ outbound, clock }),
    resend({ outbound, clock, baseUrl: baseUrl('resend') }),
    ses({ outbound, baseUrl: baseUrl('ses') }),
    twilio({ outbound, clock, baseUrl: baseUrl('twilio') }),
    customWebhook({ outbound, clock }),
    inbox(),
  ];

  const byChannel = Map.groupBy(providers, ({ channel }) => channel);
  const find = (channel: Channel, name: string): Provider | null =>
    byChannel.get(channel)?.find((provider) => provider.name === name) ?? null;
  const builtIn = new Map([
    ['WEBHOOK', find('WEBHOOK', 'custom')],
    ['IN_APP', find('IN_APP', 'inbox')],
  ]);

  return {
    find,
    builtIn: (channel) => builtIn.get(channel) ?? null,
    names: (channel) => (byChannel.get(channel) ?? []).map(({ name }) => name),
  };
}
