// Changes by the dashboard's live stream: after a cut it goes on where it was, and what that can't bring is said.

import { setTimeout as sleep } from 'node:timers/promises';

import type { Change, Say } from './changes.ts';
import type { Client } from './client.ts';
import { fetchOrSay, passesAfterMs, refusalOf, Unreachable } from './client.ts';
import type { ServerSentEvent } from './server-sent-events.ts';
import { serverSentEvents } from './server-sent-events.ts';

/** What a stream says first. */
interface Connected {
  readonly event: 'connected';
  /** It was away for so long that changes are missing. */
  readonly gap?: boolean;
}

/** Three of the service's heartbeats: a connection on which nothing comes for so long is cut. */
const silenceMaxMs = 45_000;

/** Without end. @throws StartError when the first connection can't be had, or a later one never will */
export async function* streamedChanges(
  client: Pick<Client, 'url'>,
  token: () => Promise<string>,
  say: Say,
  limits: { readonly silenceMaxMs: number } = { silenceMaxMs },
): AsyncGenerator<Change> {
  let lastId: string | null = null;
  let failures = 0;
  for (;;) {
    try {
      for await (const { id, data } of connection({ url: client.url, token: await token(), lastId, ...limits })) {
        const message = JSON.parse(data) as Connected | Change;
        if ('event' in message) say(connectedSentence(message, lastId !== null));
        else yield message;
        lastId = id ?? lastId;
        failures = 0;
      }
      throw new Unreachable('The stream has ended.');
    } catch (error) {
      const waitMs = lastId === null ? null : passesAfterMs(error, failures++);
      if (waitMs === null) throw error;
      say(`${(error as Error).message} Connecting again in ${waitMs / 1000} s.`);
      await sleep(waitMs);
    }
  }
}

function connectedSentence({ gap = false }: Connected, isAgain: boolean): string {
  if (gap)
    return 'connected again; it was away for too long: SOME CHANGES ARE MISSING HERE, GET /notifications has what they led to';
  return isAgain ? 'connected again; nothing is missing' : 'connected; changes from now on';
}

async function* connection(of: {
  readonly url: string;
  readonly token: string;
  readonly lastId: string | null;
  readonly silenceMaxMs: number;
}): AsyncGenerator<ServerSentEvent> {
  const { url, token, lastId } = of;
  const cut = new AbortController();
  const silent = new Unreachable(`Nothing came for ${of.silenceMaxMs / 1000} s.`);
  const silence = setTimeout(() => cut.abort(silent), of.silenceMaxMs);
  const headers = { authorization: `Bearer ${token}`, ...(lastId === null ? {} : { 'last-event-id': lastId }) };
  try {
    const response = await fetchOrSay(url, '/dashboard/stream', { headers, signal: cut.signal });
    if (!response.ok || response.body === null) throw refusalOf(url, response, await response.text());
    yield* serverSentEvents(response.body, () => silence.refresh());
  } finally {
    clearTimeout(silence);
    cut.abort();
  }
}
