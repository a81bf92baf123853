// Every provider through the contract, against a local stand-in that answers as its documentation says.

import { describe, expect, it } from '@jest/globals';

import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import { providerContract } from '../contracts/provider.ts';
import { customStandIn } from '../support/stand-ins/custom.ts';
import { httpProviders } from '../support/stand-ins/http-providers.ts';
import { smtpStandIn } from '../support/stand-ins/smtp.ts';
import { wallClock } from '../support/wall-clock.ts';

const standIns = [smtpStandIn, ...httpProviders, customStandIn];

for (const { traits, start } of standIns) providerContract(traits, start);

describe('the contract', () => {
  it('is kept by every provider that a tenant can set', () => {
    const outbound = createOutbound({ allow: [], clock: wallClock });
    const registry = createProviderRegistry({ outbound, clock: wallClock, providerUrls: {} });
    const listed = registry
      .catalog()
      .flatMap(({ channel, providers }) => providers.map(({ name }) => `${channel} ${name}`));
    expect(standIns.map(({ traits }) => `${traits.channel} ${traits.name}`)).toEqual(listed);
  });
});
