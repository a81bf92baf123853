// The HTTP API over the embedded engines in one thread, with projectors, scheduler and dispatchers beside it: what an API test talks to.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { OutboundDependencies } from '../../src/adapters/http/outbound.ts';
import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { createTemplateRenderer } from '../../src/adapters/liquid/template-renderer.ts';
import { createMemoryRateLimiter } from '../../src/adapters/memory/rate-limiter.ts';
import { createInboxTokens } from '../../src/adapters/node/inbox-tokens.ts';
import { createUnsubscribeLinks } from '../../src/adapters/node/unsubscribe-links.ts';
import { createTenantDirectory } from '../../src/adapters/memory/tenant-directory.ts';
import { createApiKeys } from '../../src/adapters/node/api-keys.ts';
import { createCallbackAddresses } from '../../src/adapters/node/callback-addresses.ts';
import { createClock } from '../../src/adapters/node/clock.ts';
import { createEmbeddedIssuer } from '../../src/adapters/node/issuer.ts';
import { createMetrics } from '../../src/adapters/node/metrics.ts';
import { createThreadTurns } from '../../src/adapters/node/thread-turns.ts';
import { createSecretBox } from '../../src/adapters/node/secret-box.ts';
import { createScrub } from '../../src/adapters/sqlite/scrub.ts';
import { openEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { openIdempotencyStore } from '../../src/adapters/sqlite/idempotency/store.ts';
import { openJobStore } from '../../src/adapters/sqlite/jobs/store.ts';
import { openReadModelStore } from '../../src/adapters/sqlite/read-models/store.ts';
import { openSettingsStore } from '../../src/adapters/sqlite/settings/store.ts';
import type { ApiDependencies, ApiOptions } from '../../src/api/app.ts';
import { createApi } from '../../src/api/app.ts';
import type { ServerLimits } from '../../src/api/server.ts';
import { listen } from '../../src/api/server.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import { createCodec } from '../../src/codec/index.ts';
import { cancelNotification } from '../../src/commands/cancel-notification.ts';
import type { ErasedBytes } from '../../src/ports/erased-bytes.ts';
import { eraseNotifications } from '../../src/commands/erase-notifications.ts';
import { eraseRecords } from '../../src/commands/erase-records.ts';
import { eraseTenant, forgetOfTenant } from '../../src/commands/erase-tenant.ts';
import { retryNotification } from '../../src/commands/retry-notification.ts';
import { dispatcherGroup, runDispatcher } from '../../src/dispatchers/dispatcher.ts';
import { defaultDispatcherLimits } from '../../src/dispatchers/limits.ts';
import { channels, priorities } from '../../src/domain/events.ts';
import { fixedRetryPolicy } from '../../src/domain/retry-policy.ts';
import { allTopics, defaultPartitioning, workTopic } from '../../src/domain/topics.ts';
import { runJobs } from '../../src/jobs/runner.ts';
import { createWebAssets } from '../../src/main/web/load.ts';
import type { Logger } from '../../src/ports/logger.ts';
import { projectedReadModels } from '../../src/projections/index.ts';
import { runProjector } from '../../src/projections/projector.ts';
import { followSuppressions } from '../../src/projections/suppressions/follow.ts';
import { runScheduler } from '../../src/scheduler/index.ts';

export interface AppOptions {
  /** Over the embedded ports: a part that fails, say. */
  readonly replace?: (deps: ApiDependencies) => Partial<ApiDependencies>;
  readonly options?: Partial<ApiOptions>;
  /** Dispatchers beside the API; default true. */
  readonly delivers?: boolean;
  /** Absent: no mail says how to unsubscribe. */
  readonly publicUrl?: string;
  /** Projectors and scheduler beside the API; default true. */
  readonly folds?: boolean;
  /** What was asked for many notifications is done; default true. */
  readonly runsJobs?: boolean;
  /** Delays after failed attempts; default 50 ms, then an hour. */
  readonly retryDelaysMs?: readonly number[];
  /** How often changes of settings that weren't made over the API are looked for; default as in the service. */
  readonly settingsLookMs?: number;
  /** Stand-ins for providers, by name. */
  readonly providerUrls?: Readonly<Record<string, string>>;
  /** What the guard lets through, and who resolves names; default 127.0.0.1 and the system. */
  readonly outbound?: Partial<OutboundDependencies>;
  readonly server?: Partial<ServerLimits>;
  readonly trustedProxies?: readonly string[];
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // Tests read answers field by field.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

export type App = Awaited<ReturnType<typeof startApp>>;

const issuer = 'https://issuer.test';
const audience = 'herald';

export async function startApp(given: AppOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'herald-api-'));
  const lines: LogLine[] = [];
  const logger = recordingLogger(lines);
  const clock = createClock();
  const metrics = createMetrics({ processMetrics: false });
  const groups = channels.map((channel) => ({
    group: dispatcherGroup(channel),
    topics: priorities.map((p) => workTopic(channel, p)),
  }));
  const shape = { partitioning: defaultPartitioning, topics: allTopics, groups };
  const log = openEventLog({ ...shape, path: join(folder, 'log.db'), codec: createCodec(), clock, logger });
  const store = openReadModelStore({ path: join(folder, 'views.db'), clock: createClock(), logger });
  const settings = openSettingsStore({ path: join(folder, 'settings.db') });
  const idempotency = openIdempotencyStore({ path: join(folder, 'idempotency.db'), history: log.history });
  const jobs = openJobStore({ path: join(folder, 'jobs.db'), logId: log.history.id });
  const secretBox = createSecretBox('a secret of the tests that is long enough');
  const apiKeys = createApiKeys(clock);
  const directory = createTenantDirectory({
    store: settings,
    secretBox,
    apiKeys,
    clock,
    logger,
    ...(given.settingsLookMs === undefined ? {} : { pollMs: given.settingsLookMs }),
  });
  await directory.start();
  const outbound = createOutbound({ allow: ['127.0.0.1/32'], clock, ...given.outbound });
  const registry = createProviderRegistry({ outbound, clock, providerUrls: given.providerUrls ?? {} });
  const renderer = createTemplateRenderer({ logger, clock });
  const limiter = createMemoryRateLimiter();
  const callbackAddresses = createCallbackAddresses({
    secrets: ['callback secret of the tests'],
    publicUrl: 'https://herald.test',
  });
  const tokens = await createEmbeddedIssuer({ keyPath: join(folder, 'issuer.pem'), issuer, audience });
  const closing = new AbortController();
  const unsubscribeLinks = createUnsubscribeLinks(given.publicUrl ?? null, 'secret of the links of the tests');
  const turns = createThreadTurns(metrics);

  const folding = { log, store, clock, logger, metrics };
  const running =
    given.folds === false
      ? []
      : await Promise.all([
          ...projectedReadModels.map((readModel) => runProjector({ ...folding, readModel })),
          runScheduler(folding),
        ]);
  const suppressions = await followSuppressions({ log, clock, logger }, closing.signal);
  const retryPolicy = fixedRetryPolicy(given.retryDelaysMs ?? [50, 3_600_000]);
  const dispatchers =
    given.delivers === false
      ? []
      : await Promise.all(
          channels.map((channel) =>
            runDispatcher({
              channel,
              log,
              directory,
              providers: registry,
              retryPolicy,
              limiter,
              clock,
              logger,
              metrics,
              suppressions: suppressions.list,
              unsubscribeLinks,
              callbackAddresses,
              noteBreakers: settings.noteBreakers,
              limits: defaultDispatcherLimits(channel),
            }),
          ),
        );

  const commands = {
    retryNotification: retryNotification({ log, clock }),
    cancelNotification: cancelNotification({ log, clock }),
    eraseNotifications: eraseNotifications({ log, clock }),
    eraseRecords: eraseRecords({ log, clock }),
    eraseTenant: eraseTenant({ log, settings, idempotency, jobs, clock }),
    forgetOfTenant: forgetOfTenant({ log, clock }),
  };
  const paths = ['log.db', 'views.db', 'settings.db', 'idempotency.db', 'jobs.db'].map((name) => join(folder, name));
  const bytes: ErasedBytes = { overwrite: log.overwrite, remove: log.remove, scrub: createScrub(paths) };
  const jobRunner =
    given.runsJobs === false
      ? null
      : runJobs({ jobs, log, reader: store, clock, logger, metrics, turns, commands, secretBox, bytes });

  const deps: ApiDependencies = {
    log,
    settings,
    idempotency,
    jobs,
    directory,
    suppressions: suppressions.list,
    renderer,
    registry,
    secretBox,
    apiKeys,
    clock,
    logger,
    reader: store,
    limiter,
    outbound,
    callbackAddresses,
    metrics,
    turns,
    webAssets: createWebAssets({ logger, closing: closing.signal }),
    unsubscribeLinks,
    inboxTokens: createInboxTokens(['secret of the inbox tokens of the tests']),
    tokenKeys: tokens.tokenKeys,
    closing: closing.signal,
    options: {
      rateLimit: { limit: 100_000, windowMs: 10_000 },
      itemLimit: { limit: 1_000_000, windowMs: 10_000 },
      keyLimit: { limit: 1_000_000, windowMs: 86_400_000 },
      readLimit: { limit: 100_000, windowMs: 10_000 },
      tokens: { issuer, audience, tenantClaim: 'sub', algorithms: ['RS256', 'ES256'] },
      signIn: { kind: 'token', keepsToken: true },
      corsOrigins: ['https://dashboard.test'],
      trustedProxies: given.trustedProxies ?? [],
      cursorSecret: 'cursor secret of the tests',
      jwks: tokens.jwks,
      ...given.options,
    },
  };
  const replaced = { ...deps, ...given.replace?.(deps) };
  const server = await listen(createApi(replaced), {
    host: '127.0.0.1',
    port: 0,
    logger,
    metrics,
    ...(given.server === undefined ? {} : { limits: given.server }),
    ...(given.trustedProxies === undefined ? {} : { trustedProxies: given.trustedProxies }),
  });
  const url = `http://127.0.0.1:${server.port}`;

  const call = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: unknown,
  ): Promise<Reply> => {
    const isText = typeof body === 'string' || body instanceof Uint8Array;
    const init: RequestInit = {
      method,
      headers: { ...(body === undefined || isText ? {} : { 'content-type': 'application/json' }), ...headers },
    };
    if (body !== undefined) init.body = isText ? (body as string) : JSON.stringify(body);
    const response = await fetch(path.startsWith('/') ? url + path : path, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text !== '' ? JSON.parse(text) : text,
    };
  };

  const person = async (sub: string, more: { email?: string; name?: string; hours?: number } = {}) => {
    const token = await tokens.token({ sub, hours: 1, ...more });
    const dashboard = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      call(method, `/api/v1${path}`, { authorization: `Bearer ${token}`, ...headers }, body);
    return { token, dashboard };
  };

  return {
    url,
    call,
    person,
    lines,
    deps: replaced,
    /** As a runner of jobs has them. */
    commands,
    /** As a process that writes the files has them. */
    bytes,
    folder,
    store,
    tokens,
    /** A tenant with its API key and a dashboard of its own. */
    async tenant(sub: string, more: { email?: string; name?: string } = {}) {
      const owner = await person(sub, more);
      const { status, body } = await owner.dashboard('POST', '/auth/provision-tenant');
      if (status !== 200) throw new Error(`not provisioned: ${JSON.stringify(body)}`);
      const apiKey: string = body.tenant.apiKey;
      const withKey = (method: string, path: string, sent?: unknown, headers: Record<string, string> = {}) =>
        call(method, `/api/v1${path}`, { 'x-api-key': apiKey, ...headers }, sent);
      const notify = (sent: unknown, headers: Record<string, string> = {}) => withKey('POST', '/notify', sent, headers);
      return { ...owner, id: body.tenantId as string, apiKey, withKey, notify };
    },
    /** As the service stops: streams end, requests in flight are finished. */
    beginClosing: () => closing.abort(),
    async close() {
      closing.abort();
      await server.close(1000);
      await Promise.all(dispatchers.map((one) => one.stop()));
      await jobRunner?.stop();
      await Promise.all(running.map((one) => one.stop()));
      suppressions.stop();
      await renderer.close();
      await limiter.close();
      await directory.close();
      await outbound.close();
      await log.close();
      await store.close();
      await idempotency.close();
      await jobs.close();
      await settings.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function recordingLogger(lines: LogLine[]): Logger {
  const at =
    (level: string) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      lines.push({ level, message, fields });
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
