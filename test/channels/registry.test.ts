// Which providers there are.

import { describe, expect, it } from '@jest/globals';

import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import { aDelivery, ownSecret } from '../contracts/provider.ts';
import { wallClock } from '../support/wall-clock.ts';

const outbound = createOutbound({ allow: [], clock: wallClock });
const registry = createProviderRegistry({ outbound, clock: wallClock, providerUrls: {} });

describe('the registry', () => {
  it('names the providers of each channel', () => {
    expect(registry.names('EMAIL')).toEqual(['smtp', 'resend', 'ses', 'sendgrid', 'postmark', 'mailgun']);
    expect(registry.names('SMS')).toEqual(['twilio', 'vonage', 'messagebird', 'sns', 'plivo']);
    expect(registry.names('WEBHOOK')).toEqual(['custom']);
    expect(registry.names('IN_APP')).toEqual(['inbox']);
  });

  it('finds a provider by channel and name, and nothing else', () => {
    expect(registry.find('EMAIL', 'resend')?.name).toBe('resend');
    expect(registry.find('SMS', 'resend')).toBeNull();
    expect(registry.find('EMAIL', 'toString')).toBeNull();
  });

  it('has a built-in provider where a tenant needs to set none', () => {
    expect(registry.builtIn('WEBHOOK')?.name).toBe('custom');
    expect(registry.builtIn('IN_APP')?.name).toBe('inbox');
    expect(registry.builtIn('EMAIL')).toBeNull();
    expect(registry.builtIn('SMS')).toBeNull();
  });

  it('delivers an in-app notification by saying so', async () => {
    const context = { provider: null, webhookSecret: ownSecret, secrets: [], signal: AbortSignal.timeout(1_000) };
    const outcome = await registry.builtIn('IN_APP')?.send(aDelivery({ recipient: 'user-1' }), context);
    expect(outcome).toEqual({ kind: 'delivered', messageId: null });
  });
});
