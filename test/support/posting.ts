// Posts many notifications over a few connections, and keeps what was answered to each; or, where nobody asks for that, a batch at a time.

import { Agent, request } from 'undici';

import type { Herald } from './herald.ts';

export interface Posted {
  /** null: no answer came (the process was killed, the connection cut). */
  readonly status: number | null;
  /** null unless accepted. */
  readonly id: string | null;
}

/** Answered within a second or so. */
const batchMax = 1_000;

export interface Poster {
  post(herald: Pick<Herald, 'url' | 'apiKey'>, body: unknown): Promise<Posted>;
  /** So many alike, in batches. @throws Error unless each of them is accepted */
  postMany(herald: Pick<Herald, 'url' | 'apiKey'>, notification: object, count: number): Promise<void>;
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
    async postMany({ url, apiKey }, notification, count) {
      const line = `${JSON.stringify(notification)}\n`;
      for (let left = count; left > 0; left -= batchMax) {
        const wanted = Math.min(left, batchMax);
        const { statusCode, body } = await request(`${url}/api/v1/notify/batch`, {
          method: 'POST',
          dispatcher: agent,
          headers: { 'x-api-key': apiKey, 'content-type': 'application/x-ndjson' },
          body: line.repeat(wanted),
        });
        const { accepted } = (await body.json()) as { accepted?: number };
        if (accepted !== wanted) throw new Error(`of ${wanted} ${accepted ?? 'none'} were accepted: ${statusCode}`);
      }
    },
    close: () => agent.close(),
  };
}

/** What lets tests post as fast as the service accepts. */
export const endlessLimits = { RATE_LIMIT: '1000000/10s', ITEM_LIMIT: '1000000/10s' };

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
