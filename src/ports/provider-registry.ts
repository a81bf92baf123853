// Providers: what delivers a notification of a channel with the tenant's own credentials.

import type { DeliveryOutcome } from '../domain/delivery-outcome.ts';
import type { ErrorDetail } from '../domain/errors.ts';
import type { Channel, DeliveryRequest } from '../domain/events.ts';
import type { NotificationId, TenantId } from '../domain/ids.ts';
import type { ProviderSettings } from '../domain/tenant.ts';
import type { ProviderCallbacks } from './callbacks.ts';

/** One message to be sent, and what repeats of it have in common. */
export interface Delivery {
  readonly tenantId: TenantId;
  readonly notificationId: NotificationId;
  readonly recipient: string;
  readonly requestedAt: number;
  readonly round: number;
  readonly request: DeliveryRequest;
  readonly traceparent: string | null;
  /** Of a mail that is to say how to get no more: by this address, unless the provider's config has one of the tenant's own. Absent: it says nothing of it. */
  readonly unsubscribe?: { readonly url: string | null };
}

export interface DeliveryContext {
  /** null where the channel needs none and none is set. */
  readonly provider: ProviderSettings | null;
  /** The tenant's own signing secret; for WEBHOOK without a provider. */
  readonly webhookSecret: string;
  /** Of WEBHOOK: what signs as well as the provider's key, or as that secret. Absent: nothing does. */
  readonly formerSigners?: readonly string[];
  /** Cut out of everything that is kept of an answer. */
  readonly secrets: readonly string[];
  /** Where the provider is to report to what becomes of it, where that is said with each message. Absent: nowhere. */
  readonly callbackUrl?: string | undefined;
  /** Aborts at the attempt's deadline. */
  readonly signal: AbortSignal;
}

export interface Provider {
  readonly channel: Channel;
  /** In lower case, as a tenant writes it. */
  readonly name: string;
  /** What is wrong with a tenant's `config` and key, paths as in the request (`config.fromEmail`, `apiKey`); empty when nothing is. */
  check(settings: { readonly apiKey: string; readonly config: unknown }): readonly ErrorDetail[];
  /**
   * Of a checked `config` what decides where the key goes and to whom (host, port, region, account, ...), by field: a stored key stays only while this does.
   */
  keyGoesBy(config: unknown): Readonly<Record<string, unknown>>;
  /**
   * One attempt. Answers for every way in which the receiver can fail; what it throws is a bug (failure class system, retryable).
   * Must stop soon after the signal aborts; the caller doesn't wait for it.
   */
  send(delivery: Delivery, context: DeliveryContext): Promise<DeliveryOutcome>;
  /** Absent: the provider reports nothing of what it has taken. */
  readonly callbacks?: ProviderCallbacks;
}

export interface ProviderRegistry {
  find(channel: Channel, name: string): Provider | null;
  /** The provider used when a tenant has set none: WEBHOOK `custom`, IN_APP `inbox`; null for the others. */
  builtIn(channel: Channel): Provider | null;
  /** Names that exist for a channel. */
  names(channel: Channel): readonly string[];
}

/** Which providers there are and what each asks for, so that a form can be drawn. */
export interface ProviderCatalog {
  /** The channels in their usual order; a channel that needs no provider and takes none has an empty list. */
  catalog(): readonly ChannelProviders[];
}

export interface ChannelProviders {
  readonly channel: Channel;
  /** Whether nothing can be sent without one. */
  readonly required: boolean;
  readonly providers: readonly CatalogProvider[];
}

export interface CatalogProvider {
  readonly name: string;
  readonly label: string;
  readonly help: string | null;
  /** The key first. */
  readonly fields: readonly ProviderField[];
}

export interface ProviderField {
  readonly name: string;
  /** Where it belongs in a request, and how errors name it: `apiKey`, `config.fromEmail`. */
  readonly path: string;
  readonly label: string;
  readonly type: 'secret' | 'text' | 'email' | 'integer' | 'boolean' | 'choice';
  readonly required: boolean;
  /** What an absent one counts as. */
  readonly default: string | number | boolean | null;
  /** Of a choice; null for the others. */
  readonly choices: readonly string[] | null;
  /** Of an integer, where there are limits. */
  readonly min: number | null;
  readonly max: number | null;
  readonly help: string;
}
