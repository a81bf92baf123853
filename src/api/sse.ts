// Server-sent events: opens streams within caps, keeps them alive, drops slow readers, ends them when the service stops.

import type { ServerResponse } from 'node:http';

import { DomainError, unavailable } from '../domain/errors.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';

export const streamLimits = {
  /** A stream costs about 10 KiB and at most `bufferedBytesMax`: 1,000 slow ones hold 256 MiB for the moment before they are dropped. */
  perProcessMax: 1000,
  /** So that one tenant leaves room for others. */
  perTenantMax: 200,
  /** What a reader may lag behind. */
  bufferedBytesMax: 256 * 1024,
  heartbeatMs: 15_000,
} as const;

export interface StreamMessage {
  readonly event?: string;
  readonly id?: string;
  readonly data: unknown;
}

export interface EventStream {
  /** False when the stream has ended: nothing more will arrive. */
  send(message: StreamMessage): boolean;
  end(): void;
}

/** What a handler answers a stream's request with: who it is for, and what to do once it is open. */
export interface StreamAnswer {
  readonly stream: StreamPlan;
}

export interface StreamPlan {
  readonly tenantId: TenantId;
  /** Sends through the stream from now on; returns what is to be done when it ends. */
  open(stream: EventStream): () => void;
  /** Asked at each heartbeat: whether the caller may still listen. */
  isAllowed(): Promise<boolean>;
}

interface Dependencies {
  readonly closing: AbortSignal;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits?: Partial<Record<keyof typeof streamLimits, number>>;
}

export type Streams = ReturnType<typeof createStreams>;

export function createStreams({ closing, logger, metrics, limits: given }: Dependencies) {
  const limits = { ...streamLimits, ...given };
  const open = new Set<EventStream>();
  const perTenant = new Map<TenantId, number>();
  metrics.gauge('herald_streams', () => open.size);
  closing.addEventListener('abort', () => {
    for (const stream of open) stream.end();
  });

  const take = (tenantId: TenantId) => {
    const count = perTenant.get(tenantId) ?? 0;
    if (closing.aborted) throw unavailable('The service is stopping.');
    if (open.size >= limits.perProcessMax)
      throw unavailable('There are too many open streams. Try again later.', retryAfterSeconds);
    if (count >= limits.perTenantMax) {
      throw new DomainError('TOO_MANY_REQUESTS', `A tenant has at most ${limits.perTenantMax} open streams.`, {
        retryAfterSeconds,
      });
    }
    perTenant.set(tenantId, count + 1);
  };
  const giveBack = (tenantId: TenantId) => {
    const count = perTenant.get(tenantId) ?? 0;
    if (count > 1) perTenant.set(tenantId, count - 1);
    else perTenant.delete(tenantId);
  };

  return {
    /** Resolves when the stream has ended. @throws DomainError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE past the caps */
    serve(res: ServerResponse, plan: StreamPlan, headers: Readonly<Record<string, string>>): Promise<void> {
      take(plan.tenantId);
      res.writeHead(200, { ...streamHeaders, ...headers });
      res.flushHeaders();
      const stream = createStream(res, limits.bufferedBytesMax);
      open.add(stream);
      const done = plan.open(stream);
      const heartbeat = setInterval(() => {
        stream.comment();
        plan.isAllowed().then(
          (allowed) => allowed || stream.end(),
          (err: unknown) => logger.warn('a stream is left open unchecked', { err }),
        );
      }, limits.heartbeatMs);
      heartbeat.unref();
      return new Promise((resolve) => {
        res.once('close', () => {
          clearInterval(heartbeat);
          open.delete(stream);
          giveBack(plan.tenantId);
          done();
          resolve();
        });
      });
    },
  };
}

const retryAfterSeconds = 5;

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

function createStream(res: ServerResponse, bufferedBytesMax: number) {
  const isOpen = () => !res.destroyed && !res.writableEnded;
  const write = (text: string): boolean => {
    if (!isOpen()) return false;
    res.write(text);
    if (res.writableLength <= bufferedBytesMax) return true;
    res.destroy();
    return false;
  };
  return {
    send: (message: StreamMessage) => write(messageText(message)),
    comment: () => write(':\n\n'),
    end: () => {
      if (isOpen()) res.end();
    },
  };
}

/** JSON holds no line break, and ids and names here neither. */
function messageText({ event, id, data }: StreamMessage): string {
  return `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}
