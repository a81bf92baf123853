// Asks, number by number, when what was sent shows in the records: one notification of each at a time, the newest that is done.

import { defaultPartitioning, partitionOf } from '../../src/domain/topics.ts';
import type { NotificationId } from '../../src/domain/ids.ts';
import type { Sending } from './load.ts';
import { recipientOf } from './load.ts';
import type { Arrival } from './receivers.ts';
import { repeatedly } from './repeatedly.ts';
import type { Wait } from './waits.ts';

export interface Probe {
  /** What was waited for so far, and what still is (`to` is null). */
  waits(): readonly Wait[];
  start(): void;
  stop(): Promise<void>;
}

const everyMs = 500;
/** A frozen API doesn't answer. */
const answersWithinMs = 4_000;
/** So far back those are looked for that are done: posts of the last minutes, retries and `sendAt` included. */
const lookedBack = 2_000;

interface Watched extends Wait {
  readonly id: string;
  readonly apiKey: string;
}

export function createProbe(options: {
  readonly sendings: readonly Sending[];
  readonly arrivals: ReadonlyMap<number, readonly Arrival[]>;
  readonly apiUrls: readonly string[];
  readonly webhooksUrl: string;
}): Probe {
  const { sendings, arrivals, apiUrls, webhooksUrl } = options;
  const watched = new Map<number, Watched>();
  const seen: Wait[] = [];
  let lookedAt = Date.now();
  let end: () => Promise<void> = async () => undefined;

  /** Those that came to be done since it was called before: what an older one waited for isn't known any more. */
  function watchNewest(): void {
    const since = lookedAt;
    lookedAt = Date.now();
    for (let i = sendings.length - 1; i >= Math.max(0, sendings.length - lookedBack); i--) {
      const sending = sendings[i];
      const from = sending === undefined ? null : doneAt(sending, arrivals.get(sending.n) ?? []);
      if (sending?.accepted == null || from === null || from < since) continue;
      const number = numberOf(sending, sending.accepted.id, webhooksUrl);
      if (watched.has(number)) continue;
      const { n, tenant, accepted } = sending;
      watched.set(number, { n, step: 'fold', from, to: null, id: accepted.id, apiKey: tenant.apiKey });
    }
  }

  async function look(number: number, { id, apiKey, ...wait }: Watched): Promise<void> {
    for (const url of apiUrls) {
      if ((await statusOf(url, id, apiKey)) !== 'DELIVERED') continue;
      seen.push({ ...wait, to: Date.now() });
      watched.delete(number);
      return;
    }
  }

  async function run(): Promise<void> {
    watchNewest();
    await Promise.all([...watched].map(([number, one]) => look(number, one)));
  }

  return {
    waits: () => [...seen, ...[...watched.values()].map(({ n, step, from, to }) => ({ n, step, from, to }))],
    start() {
      end = repeatedly(everyMs, run);
    },
    stop: () => end(),
  };
}

/** When nothing more was to be sent; null: not yet. */
function doneAt({ channel, sendAt, accepted }: Sending, arrived: readonly Arrival[]): number | null {
  if (channel === 'IN_APP') return sendAt === null ? (accepted?.at ?? null) : null;
  const taken = arrived.find(({ answer }) => answer === 'taken');
  return taken !== undefined && taken.answeredAt <= Date.now() ? taken.answeredAt : null;
}

function numberOf(sending: Sending, id: string, webhooksUrl: string): number {
  const { tenant, channel } = sending;
  const recipient = recipientOf(sending, webhooksUrl);
  return partitionOf(
    { tenantId: tenant.id, channel, recipient, notificationId: id as NotificationId },
    defaultPartitioning,
  );
}

async function statusOf(url: string, id: string, apiKey: string): Promise<string | null> {
  try {
    const response = await fetch(`${url}/api/v1/notify/${id}`, {
      headers: { 'x-api-key': apiKey },
      signal: AbortSignal.timeout(answersWithinMs),
    });
    const { notification } = (await response.json()) as { notification?: { status: string } };
    return notification?.status ?? null;
  } catch {
    return null;
  }
}
