// The HTTP API: an Express app over the ports, the notify route first, everything else through the pipeline.

import type { RequestListener } from 'node:http';

import type { NextFunction, Request, Response } from 'express';
import express from 'express';
import helmet from 'helmet';

import type { CommandDependencies } from '../commands/index.ts';
import { createCommands } from '../commands/index.ts';
import { DomainError } from '../domain/errors.ts';
import type { TenantId } from '../domain/ids.ts';
import type { RateLimit } from '../domain/tenant.ts';
import type { CallbackAddresses } from '../ports/callback-addresses.ts';
import type { ItemMaker } from '../ports/item-maker.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Outbound } from '../ports/outbound.ts';
import type { ProviderCatalog, ProviderRegistry } from '../ports/provider-registry.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { TokenKeys } from '../ports/token-keys.ts';
import type { InboxTokens } from '../ports/inbox-tokens.ts';
import type { UnsubscribeLinks } from '../ports/unsubscribe-links.ts';
import type { AnswerLimits } from './answers-in-flight.ts';
import { createAnswersInFlight } from './answers-in-flight.ts';
import type { TokenRules } from './authenticate.ts';
import { createAuthenticate } from './authenticate.ts';
import { createBodyMemories } from './body-memory.ts';
import { createClientAddresses } from './client-addresses.ts';
import { createCors } from './cors.ts';
import { createCursors } from './cursor.ts';
import { createDocsRouter } from './docs/serve.ts';
import type { DownloadLimits } from './downloads.ts';
import { createDownloads } from './downloads.ts';
import type { Route } from './endpoint.ts';
import { answeringUnavailable, sendError } from './errors.ts';
import { frontPage } from './front-page.ts';
import { createHandlers } from './handlers/index.ts';
import { lookingBack, refusingWrites, sayingAsOf } from './look-back.ts';
import { digest } from './idempotency-key.ts';
import { createInboxCallers } from './inbox-callers.ts';
import { createNotificationRecords } from './notification-records.ts';
import { createNotify } from './notify.ts';
import { createOwnWrites } from './own-writes.ts';
import { createPipeline } from './pipeline.ts';
import { createRequestLimits } from './rate-limit.ts';
import { createRefusalLine } from './refusal-line.ts';
import { createRefusals } from './refusals.ts';
import { beginRequestLine } from './request-line.ts';
import { requestTurn } from './request-turn.ts';
import { createRequestIds } from './request-id.ts';
import { sendJson } from './respond.ts';
import { createReadLimit } from './read-limit.ts';
import { routerOf } from './router.ts';
import { routesOf } from './routes.ts';
import type { streamLimits } from './sse.ts';
import { createStreams } from './sse.ts';
import { createUnsubscribeRouter } from './unsubscribe.ts';
import { createWaits } from './waits.ts';
import type { LoadWebAssets, SignIn } from './web.ts';
import { createWebRouter } from './web.ts';
import type { CatchUps } from './whole-read-models.ts';
import { wholeReadModels } from './whole-read-models.ts';

export interface ApiDependencies extends CommandDependencies {
  readonly reader: ReadModelReader;
  /** Of read models that answer once they are whole; absent: all answer. */
  readonly catchUps?: CatchUps;
  readonly registry: ProviderRegistry & ProviderCatalog;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly callbackAddresses: CallbackAddresses;
  readonly tokenKeys: TokenKeys;
  readonly unsubscribeLinks: Pick<UnsubscribeLinks, 'read'>;
  readonly inboxTokens: InboxTokens;
  readonly metrics: Metrics;
  readonly turns: ThreadTurns;
  /** Where a thread of its own makes events of batches' items; absent: it is done here. */
  readonly itemMaker?: ItemMaker | null;
  readonly webAssets: LoadWebAssets;
  /** Aborts when the service stops: streams end, requests in flight are finished. */
  readonly closing: AbortSignal;
  readonly options: ApiOptions;
}

export interface ApiOptions {
  readonly rateLimit: RateLimit;
  /** Of items of batches. */
  readonly itemLimit: RateLimit;
  /** Of idempotency keys that a tenant begins. */
  readonly keyLimit: RateLimit;
  /** Of what a tenant reads. */
  readonly readLimit: RateLimit;
  /** Of requests that write and don't send; absent: 2,000 in 10 s. */
  readonly writeLimit?: RateLimit;
  readonly tokens: TokenRules;
  /** To the dashboard. */
  readonly signIn: SignIn;
  readonly corsOrigins: readonly string[];
  /** Networks of proxies whose X-Forwarded-For is believed; absent: none. */
  readonly trustedProxies?: readonly string[];
  /** Of Strict-Transport-Security; 0 or absent: it isn't sent. Whoever ends TLS knows whether it holds. */
  readonly hstsSeconds?: number;
  /** Signs cursors; the same on every node. */
  readonly cursorSecret: string | Uint8Array;
  /** UTC ms that is looked back to; absent: the service shows what is. */
  readonly asOf?: number;
  /** The embedded issuer's public keys, served at /.well-known/jwks.json. */
  readonly jwks?: () => unknown;
  readonly streams?: Partial<Record<keyof typeof streamLimits, number>>;
  readonly answers?: Partial<AnswerLimits>;
  readonly downloads?: Partial<DownloadLimits>;
}

const bases = ['/api/v1', '/v1'];

export function createApi(given: ApiDependencies): RequestListener {
  const deps = reachable(given);
  const { logger, clock, metrics, closing, options } = deps;
  const requestId = createRequestIds(clock);
  const refusals = createRefusals();
  const inLine = createRefusalLine(deps);
  const { keyLimit } = options;
  const commands = createCommands({ ...deps, keyLimit, records: createNotificationRecords(deps), digest });
  const authenticate = createAuthenticate({ ...deps, tokens: options.tokens });
  const waits = createWaits(deps);
  const ownWrites = createOwnWrites({ ...deps, waits });
  const limits = createRequestLimits({
    ...deps,
    rateLimit: options.rateLimit,
    itemLimit: options.itemLimit,
    writes: options.writeLimit,
  });
  const handlers = createHandlers({
    ...deps,
    commands,
    ownWrites,
    waits,
    limits,
    cursors: createCursors(options.cursorSecret),
    refusals,
    rateLimit: options.rateLimit,
    rangesEnd: () => options.asOf ?? clock.now(),
  });
  const streams = createStreams({
    closing,
    clock,
    logger,
    metrics,
    ...(options.streams === undefined ? {} : { limits: options.streams }),
  });
  const downloads = createDownloads({
    ...deps,
    ...(options.downloads === undefined ? {} : { limits: options.downloads }),
  });
  const { bodies, batches } = createBodyMemories(clock, metrics, closing);
  const answers = createAnswersInFlight(metrics, options.answers);
  const { partitioning } = deps.log;
  const countRead = createReadLimit({ ...deps, readLimit: options.readLimit });
  const pipeline = createPipeline({
    ...deps,
    authenticate,
    inboxCallers: createInboxCallers({ ...deps, authenticate }),
    limits,
    countRead,
    bodies,
    batches,
    answers,
    partitioning,
    streams,
    downloads,
    ownWrites,
    waits,
  });
  const notify = createNotify({
    ...deps,
    authenticate,
    limits,
    bodies,
    commands,
    ownWrites,
    refusals,
    inLine,
    requestId,
  });

  const app = express();
  app.disable('etag').disable('x-powered-by').set('query parser', false);
  const notifyPaths = bases.map((base) => `${base}/notify`);
  const { asOf, trustedProxies = [], jwks } = options;
  if (asOf === undefined) app.post(notifyPaths, notify);
  const inTurn = async (_req: Request, _res: Response, next: NextFunction): Promise<void> => {
    await requestTurn(deps.turns, null);
    next();
  };
  app.use((req, res, next) => {
    beginRequestLine(req, res, { ...deps, refusals }, requestId());
    if (req.method === 'OPTIONS') void inTurn(req, res, next);
    else next();
  });
  const maxAge = options.hstsSeconds ?? 0;
  app.use(helmet({ strictTransportSecurity: maxAge > 0 && { maxAge } }));
  const routes = routesOf(handlers);
  const cors = createCors(options.corsOrigins);
  countFailuresFromZero(routes, metrics);
  const served = asOf === undefined ? routes : lookingBack(routes, { asOf, clock });
  app.use(bases, routerOf(served, pipeline, cors));
  const addresses = createClientAddresses({ trustedProxies, placesPerAddress: Infinity });
  const { unsubscribeLinks: links, limiter } = deps;
  if (asOf !== undefined)
    app.use(
      bases.map((base) => `${base}/unsubscribe`),
      refusingWrites(asOf),
    );
  app.use(bases, createUnsubscribeRouter({ log: deps.log, links, commands, limiter, addresses, bodies }));
  app.use(inTurn);
  // Loaded when somebody looks: a start doesn't pay for it.
  const document = async () => (await import('./docs/document.ts')).openApiDocument(routes);
  app.use(createDocsRouter({ document }));
  app.use(createWebRouter({ webAssets: deps.webAssets, signIn: options.signIn }));
  app.all('/', frontPage);
  if (jwks !== undefined) {
    app.get('/.well-known/jwks.json', (_req, res) =>
      sendJson(res, 200, jwks(), { 'cache-control': 'public, max-age=300' }),
    );
  }
  app.use((req, res) => {
    // Else a page can't read that its address is wrong.
    cors(req, res, anyMethod);
    throw new DomainError('NOT_FOUND', 'There is no such address: /docs lists all of them.');
  });
  app.use(async (err: unknown, _req: Request, res: Response, _next: NextFunction) => {
    const { locals } = res;
    await inLine((locals['tenantId'] ?? null) as TenantId | null);
    locals['refused'] = sendError(res, err, {
      requestId: String(locals['requestId'] ?? requestId()),
      logger,
      challenge: String(locals['challenge'] ?? 'Bearer'),
    });
  });
  if (asOf !== undefined) return sayingAsOf(app, asOf);
  // Express sets the prototypes of every request and answer, a tenth of what a notification costs: those that come by the plain path pass it by.
  const plainPaths = new Set(notifyPaths);
  return (req, res) => {
    if (req.method === 'POST' && plainPaths.has(req.url ?? '')) void notify(req, res);
    else app(req, res);
  };
}

/** A store that is away answers 503. */
function reachable(deps: ApiDependencies): ApiDependencies {
  const { logger, renderer, turns } = deps;
  return {
    ...deps,
    // What is rendered in place holds the thread for its tenant.
    renderer: { ...renderer, render: (...args) => turns.piece(() => renderer.render(...args)) },
    settings: answeringUnavailable(deps.settings, 'the settings store', logger),
    idempotency: answeringUnavailable(deps.idempotency, 'the store of idempotency keys', logger),
    jobs: answeringUnavailable(deps.jobs, 'the store of jobs', logger),
    directory: answeringUnavailable(deps.directory, 'the settings store', logger),
    reader: answeringUnavailable(wholeReader(deps), 'the read models', logger),
  };
}

function wholeReader({ reader, catchUps = new Map(), clock }: ApiDependencies): ReadModelReader {
  return wholeReadModels(reader, { catchUps, clock });
}

const anyMethod = 'GET, HEAD, POST, PUT, DELETE';

/** What an alert asks for is there before it happens; an answer of another status is counted from its first on. */
function countFailuresFromZero(routes: readonly Route[], metrics: Metrics): void {
  for (const { method, path } of [{ method: 'POST', path: '/notify' }, ...routes]) {
    for (const status of ['500', '503'])
      metrics.increment('herald_http_requests_total', { method, route: path, status }, 0);
  }
}
