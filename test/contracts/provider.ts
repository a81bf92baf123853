// What every provider owes the dispatcher: one outcome for each way in which the receiver can answer, and no secret in any of them.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import type { DeliveryOutcome } from '../../src/domain/delivery-outcome.ts';
import type { Channel } from '../../src/domain/events.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { Outbound } from '../../src/ports/outbound.ts';
import type { Delivery, DeliveryContext, Provider, ProviderField } from '../../src/ports/provider-registry.ts';
import { wallClock } from '../support/wall-clock.ts';

export type Behaviour =
  | 'success'
  | 'bad credentials'
  | 'bad recipient'
  | 'throttled'
  | 'server error'
  | 'hang'
  | 'malformed answer'
  /** Refuses with an answer that holds `echo`. */
  | 'echo';

/** A local stand-in that answers as the provider's documentation says. */
export interface StandIn {
  readonly settings: { readonly apiKey: string; readonly config: Readonly<Record<string, unknown>> };
  readonly recipient: string;
  readonly providerUrls: Readonly<Record<string, string>>;
  behave(behaviour: Behaviour, echo: string): void;
  /** Whatever it was sent in this test. */
  sent(): number;
  close(): Promise<void>;
}

export interface ProviderTraits {
  readonly channel: Channel;
  readonly name: string;
  /** What a delivered one's message id looks like; null where the provider has none. */
  readonly messageId: RegExp | null;
  /** `throttled` asks for 7 s and the provider has a way to say so. */
  readonly saysRetryAfter: boolean;
  /** Whether a success has a form that can be wrong. */
  readonly hasAnswerForm: boolean;
  /** A key of the right form that the stand-in doesn't know; null where it knows none. */
  readonly wrongKey: string | null;
  /** The forms in which the key may come back. */
  readonly echoes: (settings: StandIn['settings']) => readonly string[];
}

const freeFields = [
  'fromName',
  'fromEmail',
  'replyTo',
  'unsubscribeUrl',
  'heloName',
  'from',
  'maxPerSecond',
  'category',
  'smsType',
  'retryMissing',
  'configurationSet',
  'snsTopicArn',
];

export function providerContract(traits: ProviderTraits, start: () => Promise<StandIn>): void {
  describe(`the provider ${traits.channel} ${traits.name}`, () => {
    let standIn: StandIn;
    let outbound: Outbound;
    let provider: Provider;

    beforeEach(async () => {
      standIn = await start();
      outbound = createOutbound({ allow: ['127.0.0.1/32'], clock: wallClock });
      provider = providerOf(outbound, traits, standIn);
    });

    afterEach(async () => {
      await outbound.close();
      await standIn.close();
    });

    async function attempt(behaviour: Behaviour, echo = '', deadlineMs = 10_000): Promise<DeliveryOutcome> {
      standIn.behave(behaviour, echo);
      const context = contextOf(traits, standIn, AbortSignal.timeout(deadlineMs));
      return provider.send(aDelivery({ recipient: standIn.recipient }), context);
    }

    it('takes its own settings as valid', () => {
      expect(provider.check(standIn.settings)).toEqual([]);
    });

    it('refuses a field that it does not know, by its path', () => {
      const config = { ...standIn.settings.config, surprise: 1 };
      expect(provider.check({ ...standIn.settings, config }).map(({ path }) => path)).toEqual(['config.surprise']);
    });

    it('says in the catalog what it asks for: the key first, and of every field whether it can be left out', () => {
      const fields = catalogFieldsOf(traits);
      expect(fields[0]).toMatchObject({ path: 'apiKey', type: 'secret', required: true });
      const given = Object.keys(standIn.settings.config).map((name) => `config.${name}`);
      expect(fields.map(({ path }) => path)).toEqual(expect.arrayContaining(given));
      for (const field of fields) {
        expect(field).toMatchObject({ label: expect.stringMatching(/^[A-Z]/), help: expect.stringMatching(/\.$/) });
        const { [field.name]: _, ...config } = standIn.settings.config;
        const settings =
          field.path === 'apiKey' ? { ...standIn.settings, apiKey: '' } : { ...standIn.settings, config };
        const problems = provider.check(settings).map(({ path }) => path);
        expect([field.path, problems]).toEqual([field.path, field.required ? [field.path] : []]);
      }
    });

    it('says of every field whether the key goes by it: all but who it is from and how many go out', () => {
      const { config } = standIn.settings;
      for (const { name, path } of catalogFieldsOf(traits)) {
        if (path === 'apiKey') continue;
        const goesBy = provider.keyGoesBy({ ...config, [name]: 'another one' });
        const isFree = freeFields.includes(name);
        expect([name, goesBy[name]]).toEqual([name, isFree ? undefined : expect.anything()]);
      }
    });

    it('takes every choice that the catalog offers, and no other', () => {
      for (const { name, path, choices } of catalogFieldsOf(traits)) {
        const problemsWith = (choice: unknown) =>
          provider.check({ ...standIn.settings, config: { ...standIn.settings.config, [name]: choice } });
        for (const choice of choices ?? []) expect(problemsWith(choice)).toEqual([]);
        if (choices !== null) expect(problemsWith('none of them')).toEqual([{ path, message: expect.any(String) }]);
      }
    });

    it('takes a rate of 1 to 10,000 whole attempts a second, and delivers with one set', async () => {
      const configOf = (maxPerSecond: unknown) => ({ ...standIn.settings.config, maxPerSecond });
      const problems = (maxPerSecond: unknown) => {
        return provider.check({ ...standIn.settings, config: configOf(maxPerSecond) }).map(({ path }) => path);
      };
      for (const rate of [1, 10_000]) expect([rate, problems(rate)]).toEqual([rate, []]);
      for (const rate of [0, -1, 1.5, 10_001, '10', null, Number.NaN]) {
        expect([rate, problems(rate)]).toEqual([rate, ['config.maxPerSecond']]);
      }
      standIn.behave('success', '');
      const settings = { ...standIn.settings, config: configOf(5) };
      const context = contextOf(traits, { ...standIn, settings }, AbortSignal.timeout(10_000));
      const outcome = await provider.send(aDelivery({ recipient: standIn.recipient }), context);
      expect(outcome.kind).toBe('delivered');
    });

    it('delivers', async () => {
      const outcome = await attempt('success');
      if (outcome.kind !== 'delivered') throw new Error(JSON.stringify(outcome));
      if (traits.messageId === null) expect(outcome.messageId).toBeNull();
      else expect(outcome.messageId).toMatch(traits.messageId);
      expect(standIn.sent()).toBe(1);
    });

    it('gives up at bad credentials', async () => {
      const outcome = await attempt('bad credentials');
      expect(outcome).toMatchObject({ kind: 'rejected', reason: { failureClass: 'credentials' } });
    });

    const { wrongKey } = traits;
    if (wrongKey !== null) {
      it("gives up when the key is not the account's", async () => {
        standIn.behave('success', '');
        const settings = { ...standIn.settings, apiKey: wrongKey };
        expect(provider.check(settings)).toEqual([]);
        const context = contextOf(traits, { settings }, AbortSignal.timeout(10_000));
        const outcome = await provider.send(aDelivery({ recipient: standIn.recipient }), context);
        expect(outcome).toMatchObject({ kind: 'rejected', reason: { failureClass: 'credentials' } });
      });
    }

    it('gives up at a bad recipient', async () => {
      const outcome = await attempt('bad recipient');
      expect(outcome).toMatchObject({ kind: 'rejected', reason: { failureClass: 'recipient' } });
    });

    it('tries again later when it is throttled, as late as it is asked to', async () => {
      const outcome = await attempt('throttled');
      expect(outcome).toMatchObject({
        kind: 'retryable',
        reason: { failureClass: 'provider' },
        retryAfterMs: traits.saysRetryAfter ? 7_000 : null,
      });
    });

    it('tries again after an error of the server', async () => {
      const outcome = await attempt('server error');
      expect(outcome).toMatchObject({ kind: 'retryable', reason: { failureClass: 'provider' }, retryAfterMs: null });
    });

    it('is cut off at the deadline when nothing comes', async () => {
      const before = performance.now();
      const outcome = await attempt('hang', '', 150);
      expect(outcome).toMatchObject({ kind: 'retryable', reason: { failureClass: 'network', code: 'ETIMEDOUT' } });
      expect(performance.now() - before).toBeLessThan(2_000);
    });

    it('tries again when nothing listens', async () => {
      await standIn.close();
      const outcome = await attempt('success');
      expect(outcome).toMatchObject({ kind: 'retryable', reason: { failureClass: 'network' } });
    });

    if (traits.hasAnswerForm) {
      it('tries again when a success is not what the documentation says', async () => {
        const outcome = await attempt('malformed answer');
        expect(outcome).toMatchObject({ kind: 'retryable' });
      });
    }

    it('keeps no secret of an answer, in whatever form it comes back', async () => {
      const forms = [...traits.echoes(standIn.settings), ownSecret];
      const outcome = await attempt('echo', `you sent ${forms.join(' and ')}, did you not`);
      if (outcome.kind === 'delivered') throw new Error('the stand-in was to refuse');
      expect(outcome.reason.message).toContain('[secret]');
      for (const form of forms) expect(JSON.stringify(outcome)).not.toContain(form);
    });

    it('is blocked at a private address that OUTBOUND_ALLOW does not name', async () => {
      const guarded = createOutbound({ allow: [], clock: wallClock });
      const blocked = providerOf(guarded, traits, standIn);
      const context = contextOf(traits, standIn, AbortSignal.timeout(5_000));
      const outcome = await blocked.send(aDelivery({ recipient: standIn.recipient }), context);
      expect(outcome).toMatchObject({ kind: 'rejected', reason: { failureClass: 'blocked', code: 'ADDRESS_BLOCKED' } });
      expect(standIn.sent()).toBe(0);
      await guarded.close();
    });
  });
}

/** The time of every test of the contract, a whole second: what a stand-in says in UTC counts from it. */
export const contractNow = Date.UTC(2026, 0, 2, 3, 4, 5);

/** The tenant's own signing secret: cut out of answers everywhere. */
export const ownSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

export function aDelivery(
  over: Partial<Omit<Delivery, 'request'>> & { request?: Partial<Delivery['request']> } = {},
): Delivery {
  const { request, ...rest } = over;
  return {
    tenantId: 'tnt_1' as TenantId,
    notificationId: 'notif_0abcdefghjkmnpqrstvwxyz012' as NotificationId,
    recipient: 'nobody',
    requestedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    round: 1,
    traceparent: null,
    ...rest,
    request: {
      subject: 'Hello',
      body: 'Hello Ada',
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
      ...request,
    },
  };
}

export function contextOf(
  traits: { readonly channel: Channel; readonly name: string },
  of: Pick<StandIn, 'settings'>,
  signal: AbortSignal,
): DeliveryContext {
  const { apiKey, config } = of.settings;
  const times = { createdAt: 0, updatedAt: 0 };
  const { channel, name } = traits;
  return {
    provider: {
      tenantId: 'tnt_1' as TenantId,
      channel,
      role: 'primary',
      provider: name,
      apiKey,
      config,
      enabled: true,
      ...times,
    },
    webhookSecret: ownSecret,
    secrets: [ownSecret],
    signal,
  };
}

function catalogFieldsOf({ channel, name }: Pick<ProviderTraits, 'channel' | 'name'>): readonly ProviderField[] {
  const outbound = createOutbound({ allow: [], clock: wallClock });
  const catalog = createProviderRegistry({ outbound, clock: wallClock, providerUrls: {} }).catalog();
  const providers = catalog.find((entry) => entry.channel === channel)?.providers;
  const fields = providers?.find((provider) => provider.name === name)?.fields;
  if (fields === undefined) throw new Error(`the catalog has no ${channel} ${name}`);
  return fields;
}

function providerOf(outbound: Outbound, traits: ProviderTraits, standIn: StandIn): Provider {
  const clock = { ...wallClock, now: () => contractNow };
  const registry = createProviderRegistry({ outbound, clock, providerUrls: standIn.providerUrls });
  const provider = registry.find(traits.channel, traits.name);
  if (provider === null) throw new Error(`the registry has no ${traits.channel} ${traits.name}`);
  return provider;
}
