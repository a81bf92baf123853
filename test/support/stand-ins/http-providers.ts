// The stand-ins of all providers that are called by HTTP at an address of their own: a new one is one line here.

import { mailgunStandIn } from './mailgun.ts';
import { messagebirdStandIn } from './messagebird.ts';
import { plivoStandIn } from './plivo.ts';
import { postmarkStandIn } from './postmark.ts';
import { resendStandIn } from './resend.ts';
import { sendgridStandIn } from './sendgrid.ts';
import { sesStandIn } from './ses.ts';
import { snsStandIn } from './sns.ts';
import { twilioStandIn } from './twilio.ts';
import { vonageStandIn } from './vonage.ts';

export const httpProviders = [
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
];
