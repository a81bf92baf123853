// What the tests of single providers share: a stand-in, the provider over the guarded outbound, and one attempt.

import { afterEach, beforeEach } from '@jest/globals';

import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import type { DeliveryOutcome } from '../../src/domain/delivery-outcome.ts';
import type { Outbound, OutboundRequest } from '../../src/ports/outbound.ts';
import type { Provider } from '../../src/ports/provider-registry.ts';
import { aDelivery, contextOf, contractNow } from '../contracts/provider.ts';
import type { HttpStandIn, ProviderStandIn } from '../support/stand-ins/http-stand-in.ts';
import { wallClock } from '../support/wall-clock.ts';

const clock = { ...wallClock, now: () => contractNow };

export interface HttpApi {
  readonly standIn: () => HttpStandIn;
  /** @param config over the stand-in's own */
  send(
    delivery?: Parameters<typeof aDelivery>[0],
    config?: Readonly<Record<string, unknown>>,
  ): Promise<DeliveryOutcome>;
}

/** Starts the stand-in before each test of the suite and stops it afterwards; it answers with success until it is told otherwise. */
export function httpApi({ traits, start }: ProviderStandIn): HttpApi {
  let standIn: HttpStandIn;
  let outbound: Outbound;
  let provider: Provider;
  beforeEach(async () => {
    standIn = await start();
    standIn.behave('success', '');
    outbound = createOutbound({ allow: ['127.0.0.1/32'], clock });
    provider = found(createProviderRegistry({ outbound, clock, providerUrls: standIn.providerUrls }), traits);
  });
  afterEach(async () => {
    await outbound.close();
    await standIn.close();
  });
  return {
    standIn: () => standIn,
    send(delivery = {}, config = {}) {
      const settings = { ...standIn.settings, config: { ...standIn.settings.config, ...config } };
      const context = contextOf(traits, { settings }, AbortSignal.timeout(5_000));
      return provider.send(aDelivery({ recipient: standIn.recipient, ...delivery }), context);
    },
  };
}

/** The address that is called where PROVIDER_URLS names none: nothing goes out, the request is read off. */
export async function addressOf(
  { traits, start }: ProviderStandIn,
  over: { readonly apiKey?: string; readonly config?: Readonly<Record<string, unknown>> },
): Promise<string> {
  const standIn = await start();
  const requests: OutboundRequest[] = [];
  const outbound = createOutbound({ allow: [], clock });
  const readingOff: Outbound = {
    ...outbound,
    request(request) {
      requests.push(request);
      return Promise.resolve({ status: 500, headers: {}, body: '' });
    },
  };
  const provider = found(createProviderRegistry({ outbound: readingOff, clock, providerUrls: {} }), traits);
  const { apiKey, config } = standIn.settings;
  const settings = { apiKey: over.apiKey ?? apiKey, config: { ...config, ...over.config } };
  const context = contextOf(traits, { settings }, AbortSignal.timeout(5_000));
  await provider.send(aDelivery({ recipient: standIn.recipient }), context);
  await outbound.close();
  await standIn.close();
  const [request] = requests;
  if (request === undefined) throw new Error(`${traits.name} called nothing`);
  return request.url;
}

function found(
  registry: ReturnType<typeof createProviderRegistry>,
  { channel, name }: ProviderStandIn['traits'],
): Provider {
  const provider = registry.find(channel, name);
  if (provider === null) throw new Error(`the registry has no ${channel} ${name}`);
  return provider;
}
