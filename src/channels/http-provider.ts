// A provider whose attempt is one HTTP call: its own file says what is called and what the answer means, this one does the rest.

import type { z } from 'zod';

import { assertNever } from '../domain/assert-never.ts';
import type { DeliveryOutcome } from '../domain/delivery-outcome.ts';
import { isRetryableStatus } from '../domain/delivery-outcome.ts';
import type { ProviderCallbacks } from '../ports/callbacks.ts';
import type { Clock } from '../ports/clock.ts';
import type { Outbound, OutboundResponse } from '../ports/outbound.ts';
import type { Delivery, DeliveryContext } from '../ports/provider-registry.ts';
import { attemptKey, delivered, malformed, notReached, refused, retryAfterOf } from './outcomes.ts';
import type { ListedProvider } from './settings-check.ts';
import { settingsOf } from './settings-check.ts';

export interface HttpProviderDependencies {
  readonly outbound: Pick<Outbound, 'request'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Another base address than the provider's own, without a slash at the end. */
  readonly baseUrl?: string | undefined;
}

export interface HttpProviderDefinition<Config extends z.ZodType> {
  readonly channel: 'EMAIL' | 'SMS';
  readonly name: string;
  /** As people write it; messages begin with it. */
  readonly label: string;
  readonly config: Config;
  readonly apiKey: z.ZodType;
  readonly callbacks?: ProviderCallbacks;
  /** @param baseUrl takes the place of the provider's own address */
  call(message: Message<z.output<Config>>, baseUrl: string | undefined): Call;
  read(answer: Answer, now: number): Verdict;
}

export interface Message<Config> {
  readonly delivery: Delivery;
  readonly config: Config;
  readonly apiKey: string;
  /** The same on every try of a round: by it the provider, or a person, recognises a repeat. */
  readonly key: string;
  readonly now: number;
}

/** A POST. */
export interface Call {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The body read as JSON; null when it isn't. */
  readonly json: unknown;
}

export type Verdict =
  /** The provider has it; its own id, where it gives one. */
  | { readonly kind: 'taken'; readonly messageId: string | null }
  /** A success whose form is not the documented one. */
  | { readonly kind: 'malformed' }
  | {
      readonly kind: 'refused';
      readonly fault: Fault;
      readonly code: string;
      readonly message: string;
      /** Where the provider says it elsewhere than in Retry-After. */
      readonly retryAfterMs?: number | null;
    };

/** Whose fault a refusal is; `passing`: the same request may work later. */
export type Fault = 'passing' | 'recipient' | 'credentials' | 'content' | 'provider';

/** What a status says where no code of the provider's says more. 402 is an account without money. */
export function faultOfStatus(status: number): Fault {
  if (isRetryableStatus(status)) return 'passing';
  if (status === 401 || status === 402 || status === 403) return 'credentials';
  return status === 400 || status === 413 || status === 422 ? 'content' : 'provider';
}

export function isSuccess({ status }: Pick<Answer, 'status'>): boolean {
  return status >= 200 && status < 300;
}

export function basicLogin(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

export function httpProvider<Config extends z.ZodType>(
  definition: HttpProviderDefinition<Config>,
  dependencies: HttpProviderDependencies,
): ListedProvider {
  const { channel, name, label, config, apiKey, callbacks } = definition;
  const { outbound, clock, baseUrl } = dependencies;

  return {
    channel,
    name,
    ...settingsOf(label, config, apiKey),
    ...(callbacks === undefined ? {} : { callbacks }),

    async send(delivery, context) {
      if (!oneRecipient[channel].test(delivery.recipient)) return notOneRecipient(context);
      const now = clock.now();
      const settings = { config: config.parse(context.provider?.config), apiKey: context.provider?.apiKey ?? '' };
      const call = definition.call({ delivery, ...settings, key: attemptKey(delivery), now }, baseUrl);
      const headers = { 'user-agent': 'Herald/1', accept: 'application/json', ...call.headers };
      try {
        const response = await outbound.request({ method: 'POST', ...call, headers, signal: context.signal });
        return outcomeOf(definition, response, context, clock.now());
      } catch (error) {
        return notReached(error, context);
      }
    },
  };
}

/** Some APIs read a comma or a `<` as the start of the next recipient: what isn't one doesn't go out, however it got here. */
const oneRecipient = {
  EMAIL: /^[^\s\p{Cc},;:<>()"[\]\\@]+@[^\s\p{Cc},;:<>()"[\]\\@]+$/u,
  SMS: /^\+[1-9]\d{5,14}$/,
};

function notOneRecipient(context: DeliveryContext): DeliveryOutcome {
  const message = 'The recipient is not one plain address.';
  return refused({ failureClass: 'recipient', retryable: false, code: 'BAD_RECIPIENT', message }, context);
}

function outcomeOf(
  definition: Pick<HttpProviderDefinition<z.ZodType>, 'label' | 'read'>,
  response: OutboundResponse,
  context: DeliveryContext,
  now: number,
): DeliveryOutcome {
  const verdict = definition.read({ ...response, json: jsonOf(response.body) }, now);
  switch (verdict.kind) {
    case 'taken':
      return delivered(verdict.messageId, context);
    case 'malformed':
      return malformed(context, response.body);
    case 'refused': {
      const { fault, code, retryAfterMs = retryAfterOf(response, now) } = verdict;
      const message = `${definition.label} answered ${response.status}: ${verdict.message}`;
      return fault === 'passing'
        ? refused({ failureClass: 'provider', retryable: true, code, message, retryAfterMs }, context)
        : refused({ failureClass: fault, retryable: false, code, message }, context);
    }
    default:
      return assertNever(verdict);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
