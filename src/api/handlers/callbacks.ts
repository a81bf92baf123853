// What providers report: the address says whose and which provider, the provider's own signature that it is the one, and 200 that all of it is durable.

import type { IncomingMessage } from 'node:http';

import { assertNever } from '../../domain/assert-never.ts';
import type { Commands } from '../../commands/index.ts';
import { DomainError, notFound, unavailable } from '../../domain/errors.ts';
import { reportKinds } from '../../domain/events.ts';
import type { TenantId } from '../../domain/ids.ts';
import type { ProviderSettings, RateLimit } from '../../domain/tenant.ts';
import type { CallbackAddresses } from '../../ports/callback-addresses.ts';
import type { CallbackRequest, CallbackVerdict } from '../../ports/callbacks.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { ProviderRegistry } from '../../ports/provider-registry.ts';
import type { RateLimiter } from '../../ports/rate-limiter.ts';
import { SecretBoxError } from '../../ports/secret-box.ts';
import type { TenantDirectory } from '../../ports/tenant-directory.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import { readBytes } from '../body.ts';
import { endpoint } from '../endpoint.ts';
import { rateLimited, tooManyRequests } from '../rate-limit.ts';
import { ok } from '../respond.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'reportDelivery'>;
  readonly callbackAddresses: CallbackAddresses;
  readonly directory: Pick<TenantDirectory, 'provider' | 'fallback' | 'refresh'>;
  readonly registry: Pick<ProviderRegistry, 'find' | 'names'>;
  readonly limiter: RateLimiter;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly metrics: Pick<Metrics, 'increment'>;
  readonly turns: ThreadTurns;
}

/** What has to be fetched to verify one: providers wait 3 to 30 s for an answer. */
const verifyMaxMs = 5000;

/** Of one provider of a tenant: 100 mails a second that are delivered, opened and clicked, each told by itself. 1 ms of the thread each. */
const callbackRate: RateLimit = { limit: 3000, windowMs: 10_000 };

/** Of one provider of a tenant, however many a call tells: 10,000 mails in 10 s, as many as batches may send, each delivered, opened and clicked. */
const reportRate: RateLimit = { limit: 30_000, windowMs: 10_000 };
/** A flush of the log; 2 ms to be made events. */
const reportsAtOnce = 200;
/** Appended and read back by the folds, as bodies are: half a KiB each. */
const followsMsPerReport = 0.02;

/** As they are counted. */
const outcomes = ['taken', 'forged', 'malformed', 'unavailable'] as const;
/** Those of whom nothing is reported call nobody. */
const reportedChannels = ['EMAIL', 'SMS'] as const;

/** What an account of the tenant's makes of a call. */
interface Judged {
  readonly verdict: CallbackVerdict;
  readonly by: ProviderSettings;
}

export function createCallbackHandlers(deps: Dependencies) {
  const { commands, callbackAddresses, registry, limiter, clock, metrics, turns } = deps;
  const bodyBytesMax = new Map(reporting(registry));
  for (const provider of bodyBytesMax.keys()) {
    for (const outcome of outcomes) metrics.increment('herald_callbacks_total', { provider, outcome }, 0);
    for (const outcome of [...reportKinds, 'foreign', 'unreadable'])
      metrics.increment('herald_reports_total', { provider, outcome }, 0);
  }

  /** By each of the tenant's accounts with the provider, until one has signed it. */
  const verdictOf = async (settings: readonly ProviderSettings[], request: CallbackRequest): Promise<Judged | null> => {
    let last: Judged | null = null;
    for (const by of settings) {
      const callbacks = registry.find(by.channel, by.provider)?.callbacks;
      if (callbacks === undefined) continue;
      if (turns.isOver()) await turns.next();
      const verdict = await withDeadline(clock, (signal) =>
        turns.piece(() => callbacks.read(request, { provider: by, now: clock.now(), signal })),
      );
      last = { verdict, by };
      if (verdict.kind !== 'forged') return last;
    }
    return last;
  };

  /** Nobody is refused by what another process has changed a moment ago. */
  const verdictByStored = async (
    of: { readonly tenantId: TenantId; readonly provider: string; readonly accounts: readonly ProviderSettings[] },
    request: CallbackRequest,
  ): Promise<Judged | null> => {
    const found = await verdictOf(of.accounts, request);
    if (found !== null && found.verdict.kind !== 'forged') return found;
    await deps.directory.refresh(of.tenantId);
    return verdictOf(await accountsOf(deps, of.tenantId, of.provider), request);
  };

  /** Makes what was reported durable; answers how many of what. @throws DomainError for what isn't the provider's, or can't be read, or not verified now */
  const take = async (tenantId: TenantId, provider: string, { verdict, by }: Judged) => {
    metrics.increment('herald_callbacks_total', { provider, outcome: verdict.kind });
    switch (verdict.kind) {
      case 'forged':
        throw new DomainError('UNAUTHORIZED', verdict.message);
      case 'malformed':
        throw new DomainError('BAD_REQUEST', verdict.message);
      case 'unavailable':
        throw unavailable(verdict.message);
      case 'taken':
        break;
      default:
        return assertNever(verdict);
    }
    const { reports, foreign, other, unreadable } = verdict;
    if (reports.length > 0) await count(limiter, `reports:${tenantId}:${provider}`, reportRate, reports.length);
    let suppressed = 0;
    for (let at = 0; at < reports.length; at += reportsAtOnce) {
      const told = { tenantId, channel: by.channel, provider, reports: reports.slice(at, at + reportsAtOnce) };
      if (turns.isOver()) await turns.next();
      turns.charge(told.reports.length * followsMsPerReport);
      suppressed += (await turns.piece(() => commands.reportDelivery(told))).suppressed;
    }
    for (const { kind } of reports) metrics.increment('herald_reports_total', { provider, outcome: kind });
    for (const [outcome, events] of Object.entries({ foreign, unreadable }))
      if (events > 0) metrics.increment('herald_reports_total', { provider, outcome }, events);
    return { reports: reports.length, suppressed, foreign, other };
  };

  const receive = endpoint('none', {
    bodyIsUnread: true,
    async handle(_, { params, headers, unread: { request, room } }) {
      const { provider = '', token = '' } = params;
      const tenantId = callbackAddresses.tenantOf(provider, token);
      const bytesMax = bodyBytesMax.get(provider);
      if (tenantId === null || bytesMax === undefined) throw notFound('address of callbacks');
      await count(limiter, `callbacks:${tenantId}:${provider}`, callbackRate);
      room.belongsTo(tenantId);
      return turns.as(tenantId, async () => {
        const accounts = await accountsOf(deps, tenantId, provider);
        const body = await readBytes(request, room, bytesMax);
        const url = urlOf(callbackAddresses.urlOfToken(provider, token), request);
        const found = await verdictByStored({ tenantId, provider, accounts }, { url, headers, body });
        if (found === null) throw notFound('address of callbacks');
        return ok(await take(tenantId, provider, found));
      });
    },
  });

  return { receive };
}

/** Who reports, with what a body of it may have. */
function reporting(registry: Dependencies['registry']): [string, number][] {
  return reportedChannels.flatMap((channel) =>
    registry.names(channel).flatMap((name): [string, number][] => {
      const callbacks = registry.find(channel, name)?.callbacks;
      return callbacks === undefined ? [] : [[name, callbacks.bodyBytesMax]];
    }),
  );
}

/** @throws DomainError TOO_MANY_REQUESTS */
async function count(limiter: RateLimiter, key: string, rate: RateLimit, cost = 1): Promise<void> {
  const decision = await limiter.take(key, rate, cost);
  if (!decision.allowed) throw tooManyRequests(rateLimited('callbacks', rate, decision));
}

/** What is disabled still tells of what it has taken. @throws DomainError SERVICE_UNAVAILABLE, NOT_FOUND */
async function accountsOf(
  { directory }: Pick<Dependencies, 'directory'>,
  tenantId: TenantId,
  provider: string,
): Promise<readonly ProviderSettings[]> {
  try {
    const all = await Promise.all(
      reportedChannels.flatMap((channel) => [
        directory.provider(tenantId, channel),
        directory.fallback(tenantId, channel),
      ]),
    );
    return all.filter((settings) => settings !== null && settings.provider === provider) as ProviderSettings[];
  } catch (error) {
    if (error instanceof SecretBoxError)
      throw unavailable("A key of the tenant's providers can't be opened at the moment: save the provider again.");
    throw error;
  }
}

/** As it was called, with its query. */
function urlOf(address: string | null, { url = '' }: IncomingMessage): string | null {
  const query = url.indexOf('?');
  return address === null || query < 0 ? address : address + url.slice(query);
}

async function withDeadline<T>(clock: Pick<Clock, 'sleep'>, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = new AbortController();
  const ended = new AbortController();
  void clock.sleep(verifyMaxMs, ended.signal).then(() => deadline.abort());
  try {
    return await work(deadline.signal);
  } finally {
    ended.abort();
  }
}
