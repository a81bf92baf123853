// Sends one test message through a tenant's provider directly, past the log: whether the credentials work.

import { assertNever } from '../domain/assert-never.ts';
import type { DeliveryOutcome } from '../domain/delivery-outcome.ts';
import type { Channel, DeliveryRequest, ProviderRole } from '../domain/events.ts';
import { notificationIdOf } from '../domain/ids.ts';
import type { ProviderSettings, Tenant } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Provider, ProviderRegistry } from '../ports/provider-registry.ts';
import { SecretBoxError } from '../ports/secret-box.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';

export interface TestProviderDependencies {
  readonly directory: Pick<TenantDirectory, 'provider' | 'fallback' | 'settings' | 'refresh'>;
  readonly registry: Pick<ProviderRegistry, 'find' | 'builtIn'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7' | 'sleep'>;
  readonly logger: Pick<Logger, 'error'>;
}

export interface TestProviderInput {
  readonly tenant: Tenant;
  readonly channel: Channel;
  readonly role: ProviderRole;
  /** Checked for the channel; null when none was given. EMAIL goes to the tenant's own address instead. */
  readonly recipient: string | null;
}

export type TestResult = { readonly success: true } | { readonly success: false; readonly error: string };

const deadlineMs = 15_000;

/** What keeps a test from being made or from succeeding is a result, not an error. */
export function testProvider(deps: TestProviderDependencies) {
  const test = async ({ tenant, channel, role, recipient }: TestProviderInput): Promise<TestResult> => {
    const { directory, registry } = deps;
    const isPrimary = role === 'primary';
    // What is stored is to be tried, and it may have been saved at another process.
    await directory.refresh(tenant.id);
    const settings = await (isPrimary
      ? directory.provider(tenant.id, channel)
      : directory.fallback(tenant.id, channel));
    const enabled = settings?.enabled === true ? settings : null;
    const builtIn = isPrimary ? registry.builtIn(channel) : null;
    const provider = enabled === null ? builtIn : registry.find(channel, enabled.provider);
    if (provider === null)
      return failed(`No enabled ${isPrimary ? 'provider' : `${role} provider`} is configured for ${channel}.`);
    const to = recipientOf(tenant, channel, recipient);
    if (to === null)
      return failed(
        channel === 'EMAIL' ? 'The tenant has no email address.' : 'Give a "recipient" to send the test to.',
      );
    return resultOf(await attempt(deps, { tenant, provider, settings: enabled, recipient: to }));
  };
  return (input: TestProviderInput) =>
    test(input).catch((error: unknown) => {
      if (error instanceof SecretBoxError) return failed("The stored key can't be opened: save the provider again.");
      throw error;
    });
}

function recipientOf(tenant: Tenant, channel: Channel, given: string | null): string | null {
  switch (channel) {
    case 'EMAIL':
      return tenant.email;
    case 'SMS':
    case 'WEBHOOK':
      return given;
    case 'IN_APP':
      return given ?? 'test';
    default:
      return assertNever(channel);
  }
}

interface Attempt {
  readonly tenant: Tenant;
  readonly provider: Provider;
  readonly settings: ProviderSettings | null;
  readonly recipient: string;
}

async function attempt(
  deps: TestProviderDependencies,
  { tenant, provider, settings, recipient }: Attempt,
): Promise<DeliveryOutcome> {
  const { directory, clock } = deps;
  const known = await directory.settings(tenant.id);
  // Where the tenant signs with a secret of its own, the other isn't needed, and may be unreadable.
  const signs = provider.channel === 'WEBHOOK' && settings === null ? known : null;
  const webhookSecret = signs?.webhookSecret() ?? '';
  const formerSigners = provider.channel === 'WEBHOOK' ? (known?.formerSigners(clock.now()) ?? []) : [];
  const secrets = known?.secrets(clock.now()) ?? [];
  const deadline = new AbortController();
  const ended = new AbortController();
  const notificationId = notificationIdOf(clock.uuidV7());
  const delivery = {
    tenantId: tenant.id,
    notificationId,
    recipient,
    requestedAt: clock.now(),
    round: 1,
    request: message,
    traceparent: null,
  };
  const sending = provider
    .send(delivery, { provider: settings, webhookSecret, formerSigners, secrets, signal: deadline.signal })
    .catch((err: unknown) => {
      deps.logger.error('a provider threw', { err, provider: provider.name });
      return troubled('SYSTEM', 'The test could not be made.');
    });
  const overdue = clock.sleep(deadlineMs, ended.signal).then(() => {
    deadline.abort();
    return troubled('TIMEOUT', `The provider did not answer within ${deadlineMs / 1000} s.`);
  });
  try {
    return await Promise.race([sending, overdue]);
  } finally {
    ended.abort();
  }
}

const message: DeliveryRequest = {
  subject: 'Test message',
  body: 'This is a test message. The provider is configured well.',
  bodyFormat: 'text',
  rawSubject: null,
  rawBody: null,
  data: '{}',
  metadata: {},
  template: null,
  sendAt: null,
  batchId: null,
  tracestate: null,
  baggage: null,
};

function troubled(code: string, text: string): DeliveryOutcome {
  return { kind: 'retryable', reason: { failureClass: 'system', code, message: text }, retryAfterMs: null };
}

function resultOf(outcome: DeliveryOutcome): TestResult {
  return outcome.kind === 'delivered' ? { success: true } : failed(outcome.reason.message);
}

function failed(error: string): TestResult {
  return { success: false, error };
}
