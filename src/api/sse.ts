// Server-sent events: opens streams within caps, keeps them alive, ends those that may no longer listen, drops readers that don't read.

import type { ServerResponse } from 'node:http';

import { DomainError, unavailable } from '../domain/errors.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import { ClientGoneError } from './errors.ts';
import type { EventStream, OpenStream } from './event-stream.ts';
import { createEventStream, endReasons } from './event-stream.ts';
import { createStreamBacklog } from './stream-backlog.ts';

export const streamLimits = {
  /** A stream costs about 10 KiB and what waits for its reader. */
  perProcessMax: 1000,
  /** So that one tenant leaves room for others. */
  perTenantMax: 200,
  /** A person with some devices; more than that are connections that nobody has let go of. */
  perRecipientMax: 20,
  /** What a reader may lag behind, where nobody can wait for it. */
  bufferedBytesMax: 256 * 1024,
  /** What waits for the readers of all streams: past it who is furthest behind is dropped, and resumes. 1,000 of them may have 16 KiB each. */
  totalBufferedBytesMax: 16 * 1024 * 1024,
  heartbeatMs: 15_000,
  /** A reader that has taken nothing of what waits for it over so many heartbeats is dropped: after 30 to 45 s. */
  stalledHeartbeatsMax: 2,
  /** A key that was taken away is unknown on every node within 2 s; with these 2 s and the question itself its streams end within 5 s. */
  checkEveryMs: 2000,
} as const;

/** What a handler answers a stream's request with: who it is for, and what to do once it is open. */
export interface StreamAnswer {
  readonly stream: StreamPlan;
}

export interface StreamPlan {
  readonly tenantId: TenantId;
  /** Of an inbox: whose it is. */
  readonly recipient?: string;
  /** Sends through the stream from now on; returns what is to be done when it ends. */
  open(stream: EventStream): () => void;
  /** Asked every `checkEveryMs`: whether the caller may still listen. */
  isAllowed(): Promise<boolean>;
  /** UTC ms at which it ends in any case; null: never. */
  readonly endsAt: number | null;
}

interface Dependencies {
  readonly closing: AbortSignal;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits?: Partial<Record<keyof typeof streamLimits, number>>;
}

export type Streams = ReturnType<typeof createStreams>;

export function createStreams({ closing, clock, logger, metrics, limits: given }: Dependencies) {
  const limits = { ...streamLimits, ...given };
  const open = new Map<OpenStream, StreamPlan>();
  const perTenant = createCounts();
  const perRecipient = createCounts();
  const backlog = createStreamBacklog(limits.totalBufferedBytesMax, () => open.keys());
  metrics.gauge('herald_streams', () => open.size);
  for (const reason of endReasons) metrics.increment('herald_streams_ended_total', { reason }, 0);
  const check = createCheck(open, logger);
  const beats = [
    setInterval(() => {
      for (const stream of open.keys()) stream.beat();
    }, limits.heartbeatMs),
    setInterval(() => void check(), limits.checkEveryMs),
  ];
  for (const beat of beats) beat.unref();
  closing.addEventListener('abort', () => {
    for (const beat of beats) clearInterval(beat);
    for (const stream of open.keys()) stream.end('stopping');
  });

  const take = ({ tenantId, recipient }: StreamPlan): (() => void) => {
    if (closing.aborted) throw unavailable('The service is stopping.');
    if (open.size >= limits.perProcessMax)
      throw unavailable('There are too many open streams. Try again later.', retryAfterSeconds);
    if (perTenant.of(tenantId) >= limits.perTenantMax) throw tooMany('A tenant', limits.perTenantMax);
    const reader = recipient === undefined ? null : `${tenantId}\n${recipient}`;
    if (reader !== null && perRecipient.of(reader) >= limits.perRecipientMax)
      throw tooMany('A recipient', limits.perRecipientMax);
    perTenant.add(tenantId, 1);
    if (reader !== null) perRecipient.add(reader, 1);
    return () => {
      perTenant.add(tenantId, -1);
      if (reader !== null) perRecipient.add(reader, -1);
    };
  };

  return {
    /** Resolves when the stream has ended. @throws DomainError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE past the caps; ClientGoneError */
    serve(res: ServerResponse, plan: StreamPlan, headers: Readonly<Record<string, string>>): Promise<void> {
      // It has gone while it was authenticated: nothing would say so a second time.
      if (res.destroyed || res.closed) throw new ClientGoneError();
      const giveBack = take(plan);
      res.writeHead(200, { ...streamHeaders, ...headers });
      res.flushHeaders();
      const stream = createEventStream(res, limits, backlog);
      open.set(stream, plan);
      const done = plan.open(stream);
      const stopTimer = endAt(plan.endsAt, clock, () => stream.end('expired'));
      return new Promise((resolve) => {
        res.once('close', () => {
          stopTimer();
          open.delete(stream);
          giveBack();
          metrics.increment('herald_streams_ended_total', { reason: stream.endReason() });
          done();
          resolve();
        });
      });
    },
  };
}

/** Each try costs the tenant one of its reads, and room comes when somebody goes. */
const retryAfterSeconds = 60;

function tooMany(whose: string, max: number): DomainError {
  return new DomainError('TOO_MANY_REQUESTS', `${whose} has at most ${max} open streams.`, { retryAfterSeconds });
}

/** How many there are of each; none isn't kept. */
function createCounts() {
  const counts = new Map<string, number>();
  const of = (key: string): number => counts.get(key) ?? 0;
  return {
    of,
    add(key: string, by: number): void {
      const count = of(key) + by;
      if (count > 0) counts.set(key, count);
      else counts.delete(key);
    },
  };
}

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

/** The longest that a timer of Node holds, 24 days; the check ends what ends later. */
const timerMaxMs = 2 ** 31 - 1;

function endAt(at: number | null, clock: Pick<Clock, 'now'>, end: () => void): () => void {
  const ms = at === null ? Infinity : at - clock.now();
  if (ms > timerMaxMs) return () => {};
  const timer = setTimeout(end, Math.max(0, ms));
  return () => clearTimeout(timer);
}

/** Ends the streams whose callers may no longer listen; where that can't be found out now they stay open. One run at a time. */
function createCheck(open: ReadonlyMap<OpenStream, StreamPlan>, logger: Logger): () => Promise<void> {
  let isChecking = false;
  let isFailing = false;
  const checkOne = async ([stream, plan]: readonly [OpenStream, StreamPlan]): Promise<unknown> => {
    try {
      if (!(await plan.isAllowed())) stream.end('expired');
      return null;
    } catch (err) {
      return err;
    }
  };
  return async () => {
    if (isChecking) return;
    isChecking = true;
    const failures = (await Promise.all([...open].map(checkOne))).filter((err) => err !== null);
    if (failures.length > 0 && !isFailing)
      logger.warn('streams are left open unchecked', { streams: failures.length, err: failures[0] });
    isFailing = failures.length > 0;
    isChecking = false;
  };
}
