// Downloads: answers that are made while they are read, a piece at a time, so that their length costs nothing but their reader's place.
//
//   take a place ──> first piece (a refusal is still an answer) ──> head ──> piece, the reader takes it, next piece ... ──> end
//        └── 2 a tenant, 8 a process: 429, 503                          └── gone, failed or too slow: cut, and the reader sees that it isn't whole

import type { ServerResponse } from 'node:http';

import { DomainError, unavailable } from '../domain/errors.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Metrics } from '../ports/metrics.ts';
import { withinTime } from './deadline.ts';
import { ClientGoneError } from './errors.ts';

export const downloadLimits = {
  perTenantMax: 2,
  /** Four tenants with as many. Each holds a piece, a page of 1 MiB at most, and what it has read ahead of the log or the records. */
  perProcessMax: 8,
  /** From then on it is to come to its end: 100,000 events take 10 s of a machine that has nothing else to do. */
  timeMaxMs: 300_000,
  /** And is cut. */
  endsWithinMs: 10_000,
} as const;

export type DownloadLimits = { readonly [Name in keyof typeof downloadLimits]: number };

/** Written at a time, about: a reader that takes nothing holds so much. */
export const pieceBytes = 64 * 1024;

/** What a handler answers a download with. */
export interface DownloadAnswer {
  readonly download: Download;
}

export interface Download {
  readonly tenantId: TenantId;
  readonly headers: Readonly<Record<string, string>>;
  /** Its text; `isOver` once it is to end as soon as it can: the time is up, or the service stops. */
  pieces(isOver: () => boolean): AsyncIterable<string>;
}

interface Dependencies {
  readonly closing: AbortSignal;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly metrics: Metrics;
  readonly limits?: Partial<DownloadLimits>;
}

export type Downloads = ReturnType<typeof createDownloads>;

const outcomes = ['whole', 'cut', 'client', 'failed'] as const;
type Outcome = (typeof outcomes)[number];

export function createDownloads({ closing, clock, metrics, limits: given }: Dependencies) {
  const limits = { ...downloadLimits, ...given };
  const perTenant = new Map<TenantId, number>();
  let open = 0;
  metrics.gauge('herald_downloads', () => open);
  for (const outcome of outcomes) metrics.increment('herald_downloads_ended_total', { outcome }, 0);

  const take = (tenantId: TenantId): (() => void) => {
    const ofTenant = perTenant.get(tenantId) ?? 0;
    if (ofTenant >= limits.perTenantMax)
      throw new DomainError('TOO_MANY_REQUESTS', ownDownloadsFull, { retryAfterSeconds });
    if (open >= limits.perProcessMax)
      throw unavailable('Too many downloads are under way. Try again later.', retryAfterSeconds);
    perTenant.set(tenantId, ofTenant + 1);
    open++;
    return () => {
      open--;
      const left = (perTenant.get(tenantId) ?? 1) - 1;
      if (left > 0) perTenant.set(tenantId, left);
      else perTenant.delete(tenantId);
    };
  };

  /** @throws whatever the pieces throw before the first of them is there; ClientGoneError */
  const write = async (res: ServerResponse, texts: AsyncIterator<string>, headers: Headers): Promise<void> => {
    let next = await withinTime(texts.next(), clock);
    if (res.closed) throw new ClientGoneError();
    res.writeHead(200, { ...downloadHeaders, ...headers });
    while (next.done !== true) {
      if (!res.write(next.value)) await drained(res);
      if (res.closed) throw new ClientGoneError();
      next = await texts.next();
    }
    res.end();
  };

  return {
    /** Resolves when all is written. @throws DomainError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE; ClientGoneError */
    async serve(res: ServerResponse, download: Download, headers: Headers): Promise<void> {
      // It has gone while it was authenticated.
      if (res.destroyed || res.closed) throw new ClientGoneError();
      const giveBack = take(download.tenantId);
      const over = new AbortController();
      const endsAt = clock.monotonic() + limits.timeMaxMs;
      const isOver = () => over.signal.aborted || closing.aborted || clock.monotonic() >= endsAt;
      const texts = download.pieces(isOver)[Symbol.asyncIterator]();
      let outcome: Outcome = 'failed';
      void clock.sleep(limits.timeMaxMs + limits.endsWithinMs, over.signal).then(() => {
        if (over.signal.aborted) return;
        outcome = 'cut';
        res.destroy();
      });
      try {
        await write(res, texts, { ...headers, ...download.headers });
        outcome = 'whole';
      } catch (error) {
        if (error instanceof ClientGoneError && outcome === 'failed') outcome = 'client';
        throw error;
      } finally {
        over.abort();
        // Behind a piece that is still being made: who is refused since that takes too long doesn't wait for it, its place does.
        void ended(texts).then(giveBack);
        metrics.increment('herald_downloads_ended_total', { outcome });
      }
    },
  };
}

type Headers = Readonly<Record<string, string>>;

export const ownDownloadsFull = 'A tenant has at most 2 downloads under way. Try again when one has ended.';

const retryAfterSeconds = 5;

const downloadHeaders = {
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

/** What it holds is let go of; whether that works changes nothing for whoever read it. */
async function ended(texts: AsyncIterator<string>): Promise<void> {
  await texts.return?.().catch(() => undefined);
}

/** Until the reader has taken what was written, or has gone. */
function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.once('drain', done);
    res.once('close', done);
    if (res.closed) done();
  });
}
