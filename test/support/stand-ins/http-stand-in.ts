// A provider's HTTP API on a local server: what the real one would refuse is refused, anything else is answered as the test says.

import type { z } from 'zod';

import type { Behaviour, ProviderTraits, StandIn } from '../../contracts/provider.ts';
import type { SinkRequest } from '../http-sink.ts';
import { startHttpSink } from '../http-sink.ts';

export interface StandInAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Answers = Readonly<Record<Exclude<Behaviour, 'hang'>, StandInAnswer>>;

export interface HttpStandIn extends StandIn {
  readonly requests: readonly SinkRequest[];
  /** This and nothing else from now on, to whatever is not refused. */
  answer(answer: StandInAnswer): void;
}

export interface HttpStandInDefinition {
  readonly traits: ProviderTraits;
  readonly settings: StandIn['settings'];
  /** @param url the stand-in's */
  recipient(url: string): string;
  /** What the API says to a request that it doesn't take, in its documented form; null when it takes it. */
  refusal(request: SinkRequest): StandInAnswer | null;
  answers(echo: string): Answers;
}

export interface ProviderStandIn {
  readonly traits: ProviderTraits;
  start(): Promise<HttpStandIn>;
}

export function httpStandIn(definition: HttpStandInDefinition): ProviderStandIn {
  return { traits: definition.traits, start: () => startStandIn(definition) };
}

async function startStandIn(definition: HttpStandInDefinition): Promise<HttpStandIn> {
  const { traits, settings, recipient, refusal, answers } = definition;
  let current: StandInAnswer | null = null;
  const sink = await startHttpSink({
    respond(request, response) {
      if (current === null) return;
      const { status, headers, body } = refusal(request) ?? current;
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    },
  });
  return {
    settings,
    recipient: recipient(sink.url),
    providerUrls: { [traits.name]: sink.url },
    requests: sink.requests,
    behave: (behaviour, echo) => (current = behaviour === 'hang' ? null : answers(echo)[behaviour]),
    answer: (answer) => (current = answer),
    sent: () => sink.requests.length,
    close: sink.close,
  };
}

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): StandInAnswer {
  return { status, headers, body: JSON.stringify(body) };
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** The first field that is not as the schema says, dotted; null when all is well. What isn't JSON is wrong at ''. */
export function wrongField(schema: z.ZodType, body: string): string | null {
  return wrongFieldOf(schema, jsonOf(body));
}

/** The same of a form; of a name given twice the last counts. */
export function wrongFormField(schema: z.ZodType, body: string): string | null {
  return wrongFieldOf(schema, Object.fromEntries(new URLSearchParams(body)));
}

function wrongFieldOf(schema: z.ZodType, value: unknown): string | null {
  const [issue] = schema.safeParse(value).error?.issues ?? [];
  if (issue === undefined) return null;
  const names = issue.code === 'unrecognized_keys' ? [...issue.path, ...issue.keys] : issue.path;
  return names.join('.');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
