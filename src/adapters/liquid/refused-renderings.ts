// Renderings that broke a limit: the same source with the same data is refused at once from then on, so that a repeat costs nothing. With other data it is rendered: most often it
// is the data that were too much, and whoever sends the next is harmed by nobody. Whoever varies them has the turns of fair-queue.ts, as whoever varies the source.

import { hash } from 'node:crypto';
import { TemplateError } from './template-error.ts';
import type { WorkerJob } from './worker-messages.ts';

export interface OwnedJob {
  readonly owner: string;
  readonly job: Pick<WorkerJob, 'source' | 'data' | 'html'>;
}

export interface RefusedRenderings {
  /** Returns a hash, by which logs name the source. */
  add(owned: OwnedJob, error: TemplateError): string;
  /** As it was refused before. @throws TemplateError */
  throwIfRefused(owned: OwnedJob): void;
}

/** Of sources, and of each one's data, the oldest are forgotten when there are more. */
export function createRefusedRenderings({
  sourcesMax,
  dataMax,
}: {
  readonly sourcesMax: number;
  readonly dataMax: number;
}): RefusedRenderings {
  const refused = new Map<string, Map<string, Refusal>>();
  return {
    add(owned, { kind, message, line, column }) {
      const source = sourceKey(owned);
      const ofSource = refused.get(source) ?? new Map<string, Refusal>();
      put(ofSource, { key: dataKey(owned), value: { kind, message, line, column }, max: dataMax });
      put(refused, { key: source, value: ofSource, max: sourcesMax });
      return source;
    },
    throwIfRefused(owned) {
      if (refused.size === 0) return;
      // The data's text is made for those sources alone of which something was refused.
      const refusal = refused.get(sourceKey(owned))?.get(dataKey(owned));
      if (refusal !== undefined) throw new TemplateError(refusal.kind, refusal.message, refusal);
    },
  };
}

type Refusal = Pick<TemplateError, 'kind' | 'message' | 'line' | 'column'>;

function put<V>(
  map: Map<string, V>,
  { key, value, max }: { readonly key: string; readonly value: V; max: number },
): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}

/** By hashes, since a source may be long. */
function sourceKey({ owner, job }: OwnedJob): string {
  return hash('sha256', `${owner}\n${job.source}`, 'base64url');
}

function dataKey({ job: { data, html } }: OwnedJob): string {
  return hash('sha256', JSON.stringify([html, data]), 'base64url');
}
