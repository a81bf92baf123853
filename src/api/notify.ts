// POST /notify, the hot path: authenticate, limit, parse, accept, answer; each step waits only for what it must.

import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Commands } from '../commands/index.ts';
import type { TenantId } from '../domain/ids.ts';
import { traceContextOf } from '../domain/trace-context.ts';
import { traceIdOf } from '../domain/traceparent.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Outbound } from '../ports/outbound.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { Scope } from '../domain/tenant.ts';
import type { Authenticate } from './authenticate.ts';
import type { BodyMemory, BodyRoom } from './body-memory.ts';
import { readJson } from './body.ts';
import type { Refused } from './errors.ts';
import { sendError } from './errors.ts';
import { idempotencyKeyOf, idempotentReplayedHeader } from './idempotency-key.ts';
import { notificationRequest } from './notification-request.ts';
import type { OwnWrites } from './own-writes.ts';
import { positionText } from './position.ts';
import { createPostTurns } from './post-turns.ts';
import type { RateLimited, RequestLimits } from './rate-limit.ts';
import { limitHeaders, tooManyRequests } from './rate-limit.ts';
import type { RefusalLine } from './refusal-line.ts';
import type { Refusals } from './refusals.ts';

interface Dependencies {
  readonly authenticate: Authenticate;
  readonly bodies: BodyMemory;
  readonly commands: Pick<Commands, 'acceptNotification' | 'acceptOnce'>;
  readonly ownWrites: Pick<OwnWrites, 'note' | 'noteItem'>;
  readonly limits: Pick<RequestLimits, 'sending'>;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly turns: ThreadTurns;
  readonly refusals: Pick<Refusals, 'note'>;
  readonly inLine: RefusalLine;
  readonly requestId: () => string;
}

const route = '/notify';
const sendingScopes: readonly Scope[] = ['notify'];

export function createNotify({
  authenticate,
  bodies,
  commands,
  ownWrites,
  limits,
  outbound,
  clock,
  logger,
  metrics,
  turns,
  refusals,
  inLine,
  requestId: nextId,
}: Dependencies) {
  metrics.increment('herald_accepted_total', {}, 0);
  metrics.increment('herald_replayed_total', {}, 0);
  const noteRefusal = (tenantId: TenantId | null, refused: Refused | null, requestId: string) => {
    if (tenantId === null || refused === null || refused.code === null) return;
    const { status, code, fields } = refused;
    refusals.note(tenantId, { at: clock.now(), route: `POST ${route}`, status, code, fields, requestId });
  };
  const postTurn = createPostTurns(turns);
  const accept = async (req: IncomingMessage, room: BodyRoom, from: Parameters<typeof notificationRequest>[1]) => {
    const body = await readJson(req, { room, turns });
    const input = turns.piece(() => notificationRequest(body, from, clock.now(), outbound));
    const key = idempotencyKeyOf(req);
    const accepting =
      key === null ? commands.acceptNotification(input) : commands.acceptOnce({ input, key, batchId: null });
    return { input, accepted: await accepting };
  };
  return async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const startedAt = clock.monotonic();
    const requestId = nextId();
    const trace = traceContextOf(req.headers);
    let tenantId: TenantId | null = null;
    let limited: RateLimited | null = null;
    let room: BodyRoom | null = null;
    let status = 202;
    let refused: Refused | null = null;
    let isReplayed = false;
    try {
      const tenant = await authenticate.tenantOfKey(req.headers, sendingScopes);
      tenantId = tenant.id;
      limited = await limits.sending(tenant);
      if (!limited.decision.allowed) throw tooManyRequests(limited);
      const itsTurn = postTurn(tenantId);
      if (itsTurn !== null) await itsTurn;
      const bodyRoom = bodies.roomFor(tenantId);
      room = bodyRoom;
      const from = { tenantId, trace };
      const { input, accepted } = await turns.as(tenantId, () => accept(req, bodyRoom, from));
      const { notificationId, position } = accepted;
      isReplayed = 'isReplayed' in accepted && accepted.isReplayed === true;
      ownWrites.note(tenantId, position);
      if (input.channel === 'IN_APP' && (input.sendAt ?? 0) <= clock.now())
        ownWrites.noteItem(tenantId, input.recipient, notificationId);
      const text = `{"notificationId":"${notificationId}","notification_id":"${notificationId}","status":"queued"}`;
      res.writeHead(202, [
        'content-type',
        'application/json; charset=utf-8',
        'content-length',
        String(text.length),
        'x-content-type-options',
        'nosniff',
        'x-request-id',
        requestId,
        'ratelimit-policy',
        limited.policy,
        'ratelimit',
        limited.state,
        'location',
        `/api/v1/notify/${notificationId}`,
        'x-event-position',
        positionText(position),
        ...(isReplayed ? [idempotentReplayedHeader, 'true'] : []),
      ]);
      res.end(text);
    } catch (thrown) {
      // What waits for its answer takes no room of what is sent.
      room?.release();
      await inLine(tenantId, limited?.decision.allowed === true ? 'counted' : 'uncounted');
      refused = sendError(res, thrown, {
        requestId,
        logger,
        challenge: 'ApiKey',
        ...(limited === null ? {} : { headers: limitHeaders(limited) }),
      });
      status = refused.status;
    }
    room?.release();
    const tookMs = clock.monotonic() - startedAt;
    const line = {
      requestId,
      traceId: traceIdOf(trace.traceparent),
      method: 'POST',
      route,
      status,
      tenantId,
      ms: tookMs,
    };
    metrics.increment('herald_http_requests_total', { method: 'POST', route, status: String(status) });
    if (status === 202) {
      metrics.increment(isReplayed ? 'herald_replayed_total' : 'herald_accepted_total');
      metrics.observe('herald_accept_seconds', tookMs / 1000);
      logger.debug('request', line);
    } else {
      logger.info('request', { ...line, code: refused?.code, fields: refused?.fields });
      noteRefusal(tenantId, refused, requestId);
    }
  };
}
