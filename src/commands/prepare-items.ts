// Makes the items of a batch ready to be appended, a slice at a time: what of their tenant's settings they need is asked for once, and nothing is waited for one by one.
//
//   items ──> slice: [as they stand, or filled in up to 256 KiB or for 2 ms] ──> its taker appends it, and gives way ──> slice ...

import type { Channel } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { utf8Bytes } from '../domain/template.ts';
import type { Template } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { RenderedTemplate, TemplateRenderer } from '../ports/template-renderer.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';
import type { NotificationInput, Prepared, Source } from './accept-notification.ts';
import { checkSizes, isPlain, noProvider, render, sourceOf } from './accept-notification.ts';
import { inLineMax } from './render-in-line.ts';

export const sliceLimits = {
  /**
   * Of bodies that were filled in; what crosses it, 200 KiB, comes on top: a request of 60 bytes asks for as much. Four flushes and those of eight batches' keys,
   * two each, are 9 of the 12 MiB that may wait for the embedded log.
   */
  bytesMax: 256 * 1024,
  /** So long the thread is held; what crosses it, some 2 ms, comes on top. */
  heldMs: 2,
} as const;

interface Dependencies {
  readonly directory: Pick<TenantDirectory, 'templateByName' | 'canDeliver'>;
  readonly renderer: Pick<TemplateRenderer, 'render'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** `error` is what prepareNotification throws. */
export interface Refused {
  readonly kind: 'refused';
  readonly error: unknown;
}

export type Preparation = Prepared | Refused;

/** An answer, or why there is none: it is thrown where a single notification would have asked. */
type Asked<T> = { readonly kind: 'known'; readonly value: T } | { readonly kind: 'failed'; readonly error: unknown };

interface Means {
  readonly templates: ReadonlyMap<string, Asked<Template | null>>;
  readonly deliverable: ReadonlyMap<Channel, Asked<boolean>>;
}

/** In the order of the inputs; where nothing is filled in, all in one slice. */
export function prepareItems({ directory, renderer, clock }: Dependencies) {
  return async function* (
    tenantId: TenantId,
    inputs: readonly NotificationInput[],
  ): AsyncGenerator<readonly Preparation[], void> {
    const means = await askMeans(directory, tenantId, inputs);
    /** Those that a thread fills in: it has the next ones while the first is waited for. */
    const ahead: (Preparation | Promise<Preparation>)[] = [];
    let begun = 0;
    let slice: Preparation[] = [];
    let [bytes, heldMs] = [0, 0];
    for (;;) {
      while (ahead.length < (ahead[0] instanceof Promise && heldMs < sliceLimits.heldMs ? inLineMax : 1)) {
        const input = inputs[begun++];
        if (input === undefined) break;
        const since = isPlain(input) ? null : clock.monotonic();
        ahead.push(prepare(renderer, input, means));
        if (since !== null) heldMs += clock.monotonic() - since;
      }
      const first = ahead.shift();
      if (first === undefined) break;
      const one = first instanceof Promise ? await first : first;
      slice.push(one);
      bytes += filledBytes(one);
      if (bytes < sliceLimits.bytesMax && heldMs < sliceLimits.heldMs) continue;
      yield slice;
      slice = [];
      [bytes, heldMs] = [0, 0];
    }
    if (slice.length > 0) yield slice;
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

/** What stands as it came is bounded by what came. */
function filledBytes(one: Preparation): number {
  return 'kind' in one || isPlain(one.input) ? 0 : utf8Bytes(one.rendered.body);
}
