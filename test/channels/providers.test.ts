// Every provider through the contract, against a local stand-in that answers as its documentation says.

import { describe, expect, it } from '@jest/globals';

import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import { providerContract } from '../contracts/provider.ts';
import { customStandIn } from '../support/stand-ins/custom.ts';
import { mailgunStandIn } from '../support/stand-ins/mailgun.ts';
import { messagebirdStandIn } from '../support/stand-ins/messagebird.ts';
import { plivoStandIn } from '../support/stand-ins/plivo.ts';
import { postmarkStandIn } from '../support/stand-ins/postmark.ts';
import { resendStandIn } from '../support/stand-ins/resend.ts';
import { sendgridStandIn } from '../support/stand-ins/sendgrid.ts';
import { sesStandIn } from '../support/stand-ins/ses.ts';
import { smtpStandIn } from '../support/stand-ins/smtp.ts';
import { snsStandIn } from '../support/stand-ins/sns.ts';
import { twilioStandIn } from '../support/stand-ins/twilio.ts';
import { vonageStandIn } from '../support/stand-ins/vonage.ts';
import { wallClock } from '../support/wall-clock.ts';

const standIns = [
  smtpStandIn,
  resendStandIn,
  sesStandIn,
  sendgridStandIn,
  postmarkStandIn,
  mailgunStandIn,
  twilioStandIn,
  vonageStandIn,
  messagebirdStandIn,
  snsStandIn,
  plivoStandIn,
  customStandIn,
];

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
