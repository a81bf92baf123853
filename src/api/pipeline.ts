// What every request but a notification passes, in the order of checks: authentication (401), tenant (403), limit (429), body (415, 413, 400), query (400), position.

import type { Request, Response } from 'express';

import type { TenantId } from '../domain/ids.ts';
import type { Scope } from '../domain/tenant.ts';
import type { Partitioning } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { AnswerRoom, AnswersInFlight } from './answers-in-flight.ts';
import { answerLimits, whenTaken } from './answers-in-flight.ts';
import type { Authenticate } from './authenticate.ts';
import type { BodyMemory, BodyRoom } from './body-memory.ts';
import { readJson, readOptionalJson } from './body.ts';
import { withinTime } from './deadline.ts';
import type { Downloads } from './downloads.ts';
import type { AuthKind, Callers, Endpoint, Input, Route } from './endpoint.ts';
import type { InboxCaller, InboxCallers } from './inbox-callers.ts';
import type { OwnWrites } from './own-writes.ts';
import { afterPositionHeader, parsePosition } from './position.ts';
import type { RequestLimits } from './rate-limit.ts';
import { limitHeaders, tooManyRequests } from './rate-limit.ts';
import type { ReadLimit } from './read-limit.ts';
import { requestTurn } from './request-turn.ts';
import type { Answer } from './respond.ts';
import { sendJson, sendText } from './respond.ts';
import type { Streams } from './sse.ts';
import { queryOf, validate } from './validate.ts';
import type { Waits } from './waits.ts';

interface Dependencies {
  readonly authenticate: Authenticate;
  readonly inboxCallers: InboxCallers;
  readonly limits: RequestLimits;
  readonly bodies: BodyMemory;
  /** Of batches. */
  readonly batches: BodyMemory;
  readonly partitioning: Partitioning;
  readonly clock: Clock;
  readonly streams: Streams;
  readonly downloads: Downloads;
  readonly answers: AnswersInFlight;
  readonly ownWrites: Pick<OwnWrites, 'follow'>;
  readonly waits: Pick<Waits, 'forPosition'>;
  readonly countRead: ReadLimit;
  readonly turns: ThreadTurns;
}

/** A batch of so many bytes, some 500 small items, is none that a person waits for; a few notifications that are sent together may be. */
const bulkBytesMin = 64 * 1024;

/** How long a GET waits for `x-after-position`. */
const positionWaitMs = 2000;

type RouteOf<Kind extends AuthKind> = Pick<Route, 'method' | 'sends'> & {
  readonly auth: Kind;
  readonly scopes?: readonly Scope[] | undefined;
};

export type Serve = (req: Request, res: Response) => Promise<void>;

export function createPipeline(deps: Dependencies) {
  const { authenticate, inboxCallers, limits, countRead, bodies, batches, answers } = deps;
  const { partitioning, clock, streams, downloads, ownWrites, waits, turns } = deps;
  const callerOf: {
    [Kind in AuthKind]: (req: Request, res: Response, scopes: readonly Scope[]) => Promise<Callers[Kind]>;
  } = {
    none: async () => null,
    apiKey: async (req, _res, scopes) => {
      const tenant = await authenticate.tenantOfKey(req.headers, scopes);
      return { tenant, apiKey: String(req.headers['x-api-key']) };
    },
    token: async (req, res) => ({ person: await authenticate.person(req, res, { queryToken: false }) }),
    bearer: (req, res) => ownerOf(req, res, false),
    // A token decides where there is one; without either the answer asks for a token.
    bearerOrKey: async (req, res, scopes) => {
      const { headers } = req;
      if (headers.authorization !== undefined || headers['x-api-key'] === undefined) return ownerOf(req, res, false);
      return { tenant: await authenticate.tenantOfKey(headers, scopes) };
    },
    bearerOrQuery: (req, res) => ownerOf(req, res, true),
    inbox: (req, _res, scopes) => inboxCallers(req, { scopes, queryToken: false }),
    inboxOrQuery: (req, _res, scopes) => inboxCallers(req, { scopes, queryToken: true }),
  };
  const ownerOf = async (req: Request, res: Response, queryToken: boolean): Promise<Callers['bearer']> => {
    const person = await authenticate.person(req, res, { queryToken });
    return { tenant: await authenticate.tenantOfPerson(person), person };
  };

  const inputOf = async (req: Request, endpoint: Endpoint<never>, room: BodyRoom): Promise<Input> => {
    const body = await bodyOf(req, endpoint, { room, turns });
    const query = endpoint.query === undefined ? {} : validate(endpoint.query, queryOf(req.url));
    const unread = { request: req, room };
    return { params: req.params as Record<string, string>, headers: req.headers, body, query, unread };
  };

  /** Until what it reads from has what the caller has written, and what `x-after-position` names. */
  const follow = async (
    tenantId: TenantId | null,
    { follows }: Endpoint<never>,
    { query, headers }: Input,
  ): Promise<void> => {
    if (follows === undefined) return;
    const after = headers[afterPositionHeader];
    const position = typeof after === 'string' ? parsePosition(after, partitioning.partitions) : null;
    const readModels = follows(query);
    if (tenantId === null) return;
    await ownWrites.follow(tenantId, readModels);
    if (position === null) return;
    const wanted = { ...position, tenantId };
    for (const readModel of readModels) await waits.forPosition(readModel, wanted, positionWaitMs, 'claimed');
  };

  const run = async <Kind extends AuthKind>(
    { auth, scopes = [], method, sends }: RouteOf<Kind>,
    endpoint: Endpoint<Callers[Kind]>,
    req: Request,
    res: Response,
  ) => {
    const caller = await callerOf[auth](req, res, scopes);
    const tenantId = caller !== null && 'tenant' in caller ? caller.tenant.id : null;
    if (tenantId !== null) res.locals['tenantId'] = tenantId;
    if (caller !== null && 'recipient' in caller) await countRecipient(caller);
    if (method !== 'GET') await count(caller, sends === true, res);
    else if (tenantId !== null) await countRead(tenantId, res);
    const isBatch = endpoint.isBatch === true;
    const isBulk = isBatch && Number(req.headers['content-length'] ?? bulkBytesMin) >= bulkBytesMin;
    const as = <T>(work: () => T): T => (tenantId === null ? work() : turns.as(tenantId, work, isBulk));
    await as(() => requestTurn(turns, tenantId));
    const bodyRoom = (isBatch ? batches : bodies).roomFor(tenantId ?? '');
    let answerRoom: AnswerRoom | null = null;
    let work: Promise<unknown> = Promise.resolve();
    try {
      const input = await as(() => inputOf(req, endpoint, bodyRoom));
      await follow(tenantId, endpoint, input);
      await endpoint.awaits?.(caller, input);
      // Not before: who merely waits takes no place.
      if (!isBatch) answerRoom = await roomFor(method, tenantId, endpoint, res);
      const handled = as(() => endpoint.handle(caller, input));
      const handling = isBatch ? handled : handled.finally(bodyRoom.release);
      work = handling;
      const answer = await (method === 'GET' ? withinTime(handling, clock) : handling);
      const headers = { 'x-request-id': String(res.locals['requestId']) };
      if ('stream' in answer || 'download' in answer) {
        answerRoom?.giveBack();
        if (req.method === 'HEAD') sendJson(res, 200, '', headers);
        else if ('stream' in answer) await streams.serve(res, answer.stream, headers);
        else await as(() => downloads.serve(res, answer.download, headers));
        return;
      }
      const bytes = await as(() => sendInTurns(res, answer, headers, endpoint));
      if (isBatch) whenTaken(res, answerLimits.takenWithinMs, bodyRoom.release);
      else if (endpoint.answerBytesMax === undefined) answerRoom?.giveBack();
      else answerRoom?.holds(res, bytes);
    } catch (error) {
      bodyRoom.release();
      // One that took too long keeps its place until it has ended.
      const giveBack = () => answerRoom?.giveBack();
      void work.then(giveBack, giveBack);
      throw error;
    }
  };

  /** Answers the bytes of the body. A record of 1.3 MiB takes 10 ms as a text and 10 as bytes: what may be long waits for its turn with each. */
  const sendInTurns = async (
    res: Response,
    answer: Answer,
    common: Record<string, string>,
    { answerBytesMax }: Endpoint<never>,
  ): Promise<number> => {
    const inTurn = async <T>(work: () => T): Promise<T> => {
      if (answerBytesMax !== undefined && turns.isOver()) await turns.next();
      return turns.piece(work);
    };
    const text = await inTurn(() => ('json' in answer ? answer.json : JSON.stringify(answer.body)));
    const headers = { 'cache-control': 'no-store', ...common, ...answer.headers };
    return inTurn(() => sendText(res, answer.status, text, headers));
  };

  /** A browser has the tenant's limits and, so that it leaves them to others, one of its own. @throws DomainError TOO_MANY_REQUESTS */
  const countRecipient = async ({ tenant, recipient }: InboxCaller): Promise<void> => {
    if (recipient !== null) await limits.browsing(tenant.id, recipient);
  };

  /** @throws DomainError TOO_MANY_REQUESTS */
  const count = async (caller: Callers[AuthKind], sends: boolean, res: Response): Promise<void> => {
    if (caller === null) return;
    if (!('tenant' in caller)) return limits.writing(caller.person.subject);
    if (!sends) return limits.writing(caller.tenant.id);
    const limited = await limits.sending(caller.tenant);
    for (const [name, value] of Object.entries(limitHeaders(limited))) res.setHeader(name, value);
    if (!limited.decision.allowed) throw tooManyRequests(limited);
  };

  /** A place for what is read, and room for what is answered at length. */
  const roomFor = async (
    method: Route['method'],
    tenantId: TenantId | null,
    { answerBytesMax }: Endpoint<never>,
    res: Response,
  ): Promise<AnswerRoom | null> => {
    const isShort = answerBytesMax === undefined;
    return tenantId === null || (isShort && method !== 'GET') ? null : answers.take(tenantId, answerBytesMax ?? 0, res);
  };

  return (route: Route): Serve =>
    (req, res) =>
      run(route, route.endpoint as Endpoint<Callers[AuthKind]>, req, res);
}

async function bodyOf(
  req: Request,
  { body, bodyIsOptional, bodyIsUnread }: Endpoint<never>,
  reading: Parameters<typeof readJson>[1],
): Promise<unknown> {
  if (body === undefined || bodyIsUnread === true) return undefined;
  if (bodyIsOptional !== true) return validate(body, await readJson(req, reading));
  const sent = await readOptionalJson(req, reading);
  return validate(body, sent === undefined ? {} : sent);
}
