// The canonical line of a request in the log, once it is over, and what is kept of a refusal.

import type { Request, Response } from 'express';

import type { TenantId } from '../domain/ids.ts';
import { parseTraceparent, traceIdOf } from '../domain/traceparent.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Refused } from './errors.ts';
import { clientGoneStatus } from './errors.ts';
import type { Refusals } from './refusals.ts';

interface Dependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly refusals: Pick<Refusals, 'note'>;
}

/** The address is the route's pattern: paths and queries hold ids and tokens. */
export function beginRequestLine(
  req: Request,
  res: Response,
  { clock, logger, metrics, refusals }: Dependencies,
  requestId: string,
): void {
  const startedAt = clock.monotonic();
  const { method } = req;
  res.locals['requestId'] = requestId;
  res.setHeader('x-request-id', requestId);
  res.once('close', () => {
    const route = String(res.locals['route'] ?? 'unknown');
    const status = res.headersSent ? res.statusCode : clientGoneStatus;
    const wrongClaim: unknown = res.locals['wrongClaim'];
    const { code, fields } = (res.locals['refused'] ?? { code: null, fields: [] }) as Refused;
    const tenantId = (res.locals['tenantId'] ?? null) as TenantId | null;
    // Reads that found nothing would push out what a tenant looks for: what it meant to do.
    if (code !== null && tenantId !== null && method !== 'GET' && method !== 'HEAD')
      refusals.note(tenantId, { at: clock.now(), route: `${method} ${route}`, status, code, fields, requestId });
    metrics.increment('herald_http_requests_total', {
      method: knownMethods.has(method) ? method : 'other',
      route,
      status: String(status),
    });
    logger.info('request', {
      requestId,
      traceId: traceIdOf(parseTraceparent(req.headers['traceparent'])),
      method,
      route,
      status,
      tenantId,
      ms: clock.monotonic() - startedAt,
      ...(code === null ? {} : { code, fields: wrongClaim === undefined ? fields : [wrongClaim] }),
    });
  });
}

/** A label's values are few. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
