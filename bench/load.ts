// The load process: runs one LoadPlan after another, as its parent says, and answers each with a LoadResult.

import { openConnection } from './connection.ts';
import type { Connection } from './connection.ts';
import { createTimeline } from './over-time.ts';
import { monotonicMs, percentiles } from './protocol.ts';
import type { LoadPlan, LoadResult, LoadTarget } from './protocol.ts';

process.on('message', (plan: LoadPlan) => {
  void answer(plan);
});

// Without its parent it has nothing to do.
process.on('disconnect', () => process.exit());

async function answer(plan: LoadPlan): Promise<void> {
  try {
    process.send?.(plan.kind === 'closed' ? await closedLoop(plan) : await openLoop(plan));
  } catch (error) {
    console.error('load:', error);
    process.exit(1);
  }
}

/** Every connection sends its next request when the last one is answered. */
async function closedLoop({ target, connections, until }: LoadPlan & { kind: 'closed' }): Promise<LoadResult> {
  const tally = newTally(target.keepIds);
  const requests = Array.from({ length: connections }, (_, i) => requestText(target, i, null));
  const sentAt = new Float64Array(connections);
  const finished = Promise.withResolvers<void>();
  const open = await openAll(connections, target.port, {
    answered: (i, status, body) => {
      tally.add(status, body, sentAt[i] ?? 0);
      next(i);
    },
    failed: finished.reject,
  });
  const startedAt = monotonicMs();
  const deadline = until.kind === 'after' ? startedAt + until.durationMs : Number.POSITIVE_INFINITY;
  const toSend = until.kind === 'count' ? until.requests : Number.POSITIVE_INFINITY;
  let sent = 0;
  let busy = connections;
  const next = (i: number) => {
    const now = monotonicMs();
    if (sent >= toSend || now >= deadline) {
      busy -= 1;
      if (busy === 0) finished.resolve();
      return;
    }
    sent += 1;
    sentAt[i] = now;
    open[i]?.send(requests[i] ?? '');
  };
  for (const i of open.keys()) next(i);
  await finished.promise;
  const elapsedMs = monotonicMs() - startedAt;
  for (const connection of open) connection.close();
  return tally.result(startedAt, elapsedMs);
}

/** A request whenever one is due, on whichever connection is free; what finds none free waits, and its wait counts. */
async function openLoop({
  target,
  connections,
  ratePerSecond,
  durationMs,
}: LoadPlan & { kind: 'open' }): Promise<LoadResult> {
  const tally = newTally(target.keepIds);
  const free: number[] = [];
  const waiting: number[] = [];
  const dueAt = new Float64Array(connections);
  const total = Math.round((ratePerSecond * durationMs) / 1000);
  const finished = Promise.withResolvers<void>();
  const open = await openAll(connections, target.port, {
    answered: (i, status, body) => {
      tally.add(status, body, dueAt[i] ?? 0);
      free.push(i);
      if (tally.answers() === total) finished.resolve();
      sendWaiting();
    },
    failed: finished.reject,
  });
  const sendWaiting = () => {
    while (free.length > 0 && waiting.length > 0) {
      const i = free.shift() ?? 0;
      const due = waiting.shift() ?? 0;
      dueAt[i] = due;
      open[i]?.send(requestText(target, i, due));
    }
  };
  free.push(...open.keys());
  const startedAt = monotonicMs();
  let begun = 0;
  const timer = setInterval(() => {
    const now = monotonicMs();
    for (; begun < total && startedAt + (begun * 1000) / ratePerSecond <= now; begun++) waiting.push(now);
    sendWaiting();
    if (begun === total) clearInterval(timer);
  }, 1);
  await finished.promise;
  const elapsedMs = monotonicMs() - startedAt;
  for (const connection of open) connection.close();
  return tally.result(startedAt, elapsedMs);
}

interface LoopEvents {
  answered(connection: number, status: string, body: string): void;
  failed(error: Error): void;
}

function openAll(connections: number, port: number, events: LoopEvents): Promise<Connection[]> {
  const opening = Array.from({ length: connections }, (_, i) =>
    openConnection(port, { answered: (status, body) => events.answered(i, status, body), failed: events.failed }),
  );
  return Promise.all(opening);
}

/** The same bytes for every server that is measured; `due` is what the sink counts the latency from. */
function requestText(target: LoadTarget, connection: number, due: number | null): string {
  const apiKey = target.apiKeys[connection % target.apiKeys.length] ?? '';
  const text = 'Hello {{ name }}, your order {{ order }} left our warehouse today and will reach you in two days.';
  const body = JSON.stringify({
    channel: 'WEBHOOK',
    recipient: target.sinkUrl,
    subject: 'Order {{ order }} shipped',
    body: target.bodyBytes === null ? text : text.padEnd(target.bodyBytes, filler),
    data: { name: 'Ada', order: `A-${10_000 + connection}`, ...(due === null ? {} : { dueAtMs: due }) },
    metadata: { source: 'bench' },
  });
  const head = [
    'POST /api/v1/notify HTTP/1.1',
    'Host: 127.0.0.1',
    `x-api-key: ${apiKey}`,
    'Content-Type: application/json',
  ];
  return `${head.join('\r\n')}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const filler = ' The order left our warehouse and will reach you.';

function newTally(keepIds: boolean) {
  const statuses: Record<string, number> = {};
  const latencies: number[] = [];
  const ids: string[] = [];
  const timeline = createTimeline();
  return {
    answers: () => latencies.length,
    /** @param since monotonic ms at which it was sent or due */
    add: (status: string, body: string, since: number) => {
      const now = monotonicMs();
      statuses[status] = (statuses[status] ?? 0) + 1;
      latencies.push(now - since);
      timeline.add(now, now - since);
      if (keepIds && status === '202') ids.push(notificationIdIn(body));
    },
    result: (firstSentAtMs: number, elapsedMs: number): LoadResult => ({
      answers: latencies.length,
      statuses,
      elapsedMs,
      perSecond: (latencies.length / elapsedMs) * 1000,
      latencyMs: percentiles(latencies),
      firstSentAtMs,
      ids,
      overTime: timeline.moments(),
    }),
  };
}

function notificationIdIn(body: string): string {
  const found = /"notificationId":"([^"]+)"/.exec(body)?.[1];
  if (found === undefined) throw new Error(`a 202 without a notificationId: ${body}`);
  return found;
}
