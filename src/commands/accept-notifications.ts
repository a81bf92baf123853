// Accepts many notifications of one tenant: what of its settings they need is asked for once, nothing is waited for one by one, and all are appended together.

import type { Channel, NotificationRequested } from '../domain/events.ts';
import { type BatchId, notificationIdOf, type TenantId } from '../domain/ids.ts';
import type { Template } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { AppendResult, EventLog } from '../ports/event-log.ts';
import type { RenderedTemplate, TemplateRenderer } from '../ports/template-renderer.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';
import type { Accepted, NotificationInput, Prepared, Source } from './accept-notification.ts';
import { checkSizes, noProvider, notAppended, render, requested, sourceOf, withoutKey } from './accept-notification.ts';

/** What became of one of them; `error` is what acceptNotification throws. */
export type Outcome =
  | ({ readonly kind: 'accepted' } & Accepted)
  | { readonly kind: 'refused'; readonly error: unknown };

interface Dependencies {
  readonly directory: Pick<TenantDirectory, 'templateByName' | 'canDeliver'>;
  readonly renderer: Pick<TemplateRenderer, 'render'>;
  readonly log: Pick<EventLog, 'appendAll' | 'partitioning'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7'>;
}

/** An answer, or why there is none: it is thrown where a single notification would have asked. */
type Asked<T> = { readonly kind: 'known'; readonly value: T } | { readonly kind: 'failed'; readonly error: unknown };

interface Means {
  readonly templates: ReadonlyMap<string, Asked<Template | null>>;
  readonly deliverable: ReadonlyMap<Channel, Asked<boolean>>;
}

type Refused = Extract<Outcome, { readonly kind: 'refused' }>;
type Preparation = Prepared | Refused;

/** Outcomes are in the order of the inputs. */
export function acceptNotifications({ directory, renderer, log, clock }: Dependencies) {
  return async (
    tenantId: TenantId,
    inputs: readonly NotificationInput[],
    batchId: BatchId,
  ): Promise<readonly Outcome[]> => {
    const means = await askMeans(directory, tenantId, inputs);
    const preparing = inputs.map((input) => prepare(renderer, input, means));
    const prepared = await whole(preparing);
    const requestedAt = clock.now();
    const events: NotificationRequested[] = [];
    for (const one of prepared) {
      if ('kind' in one) continue;
      const notificationId = notificationIdOf(clock.uuidV7());
      events.push(requested(one, { notificationId, requestedAt, batchId }, log));
    }
    const results = await log.appendAll(events);
    let next = 0;
    return prepared.map((one) => ('kind' in one ? one : outcomeOf(events[next], results[next++])));
  };
}

async function askMeans(
  directory: Dependencies['directory'],
  tenantId: TenantId,
  inputs: readonly NotificationInput[],
): Promise<Means> {
  const names = new Set<string>();
  const channels = new Set<Channel>();
  for (const { template, channel } of inputs) {
    if (template !== null) names.add(template);
    channels.add(channel);
  }
  const [templates, deliverable] = await Promise.all([
    askEach(names, (name) => directory.templateByName(tenantId, name)),
    askEach(channels, (channel) => directory.canDeliver(tenantId, channel)),
  ]);
  return { templates, deliverable };
}

async function askEach<K, T>(keys: ReadonlySet<K>, ask: (key: K) => Promise<T>): Promise<Map<K, Asked<T>>> {
  const answer = async (key: K): Promise<[K, Asked<T>]> => {
    try {
      return [key, { kind: 'known', value: await ask(key) }];
    } catch (error) {
      return [key, { kind: 'failed', error }];
    }
  };
  return new Map(await Promise.all(Array.from(keys, answer)));
}

/** Of what was asked for. @throws what the asking came to */
function told<T>(asked: Asked<T> | undefined): T | null {
  if (asked?.kind === 'failed') throw asked.error;
  return asked?.value ?? null;
}

/** A promise where a renderer of its own thread fills it in. Neither throws nor rejects. */
function prepare(
  renderer: Dependencies['renderer'],
  input: NotificationInput,
  { templates, deliverable }: Means,
): Preparation | Promise<Preparation> {
  try {
    const source = sourceOf(input, input.template === null ? null : told(templates.get(input.template)));
    const rendering = render(renderer, source, input);
    if (!(rendering instanceof Promise)) return checked(input, source, rendering, deliverable);
    return rendering.then((rendered) => checked(input, source, rendered, deliverable)).catch(refused);
  } catch (error) {
    return refused(error);
  }
}

/** @throws DomainError BAD_REQUEST, NO_PROVIDER_CONFIGURED */
function checked(
  input: NotificationInput,
  source: Source,
  rendered: RenderedTemplate,
  deliverable: Means['deliverable'],
): Prepared {
  checkSizes(rendered);
  if (told(deliverable.get(input.channel)) !== true) throw noProvider(input.channel);
  return { input, template: source.reference, rendered };
}

function refused(error: unknown): Refused {
  return { kind: 'refused', error };
}

function outcomeOf(event: NotificationRequested | undefined, result: AppendResult | undefined): Outcome {
  if (event === undefined || result === undefined) throw new Error('the log has not answered for each event');
  if (result.kind !== 'durable') return refused(notAppended(result.kind, withoutKey));
  return { kind: 'accepted', notificationId: event.notificationId, position: result.position };
}

/** At once where none of them is waited for. */
async function whole(preparing: readonly (Preparation | Promise<Preparation>)[]): Promise<readonly Preparation[]> {
  const prepared: Preparation[] = [];
  for (const one of preparing) prepared.push(one instanceof Promise ? await one : one);
  return prepared;
}
