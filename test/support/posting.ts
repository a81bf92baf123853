// Posts many notifications over a few connections, and keeps what was answered to each.

import { Agent, request } from 'undici';

import type { Herald } from './herald.ts';

export interface Posted {
  /** null: no answer came (the process was killed, the connection cut). */
  readonly status: number | null;
  /** null unless accepted. */
  readonly id: string | null;
}

export interface Poster {
  post(herald: Pick<Herald, 'url' | 'apiKey'>, body: unknown): Promise<Posted>;
  close(): Promise<void>;
}

/** @param options.timeoutMs after which an answer isn't waited for any longer; default: a minute */
export function createPoster({ timeoutMs = 60_000 }: { readonly timeoutMs?: number } = {}): Poster {
  const agent = new Agent({ connections: 50, headersTimeout: timeoutMs });
  return {
    async post({ url, apiKey }, notification) {
      try {
        const { statusCode, body } = await request(`${url}/api/v1/notify`, {
          method: 'POST',
          dispatcher: agent,
          headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
          body: JSON.stringify(notification),
        });
        const answer = (await body.json()) as { notificationId?: string };
        return { status: statusCode, id: answer.notificationId ?? null };
      } catch {
        return { status: null, id: null };
      }
    },
    close: () => agent.close(),
  };
}

/** Runs over the items, so many at once. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  run: (item: T, i: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) await run(items[i] as T, i);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
