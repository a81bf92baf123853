// A dispatcher on the real SQLite log, with a provider and tenants that the test decides, and a process that can be killed.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createMemoryRateLimiter } from '../../src/adapters/memory/rate-limiter.ts';
import { openEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../src/codec/index.ts';
import type { Codec } from '../../src/codec/index.ts';
import { dispatcherGroup, runDispatcher } from '../../src/dispatchers/dispatcher.ts';
import type { Dispatcher } from '../../src/dispatchers/dispatcher.ts';
import { defaultDispatcherLimits } from '../../src/dispatchers/limits.ts';
import type { DispatcherLimits } from '../../src/dispatchers/limits.ts';
import type { StartFrom } from '../../src/dispatchers/start-position.ts';
import type { DeliveryOutcome } from '../../src/domain/delivery-outcome.ts';
import { channels } from '../../src/domain/events.ts';
import type { AttemptFailed, AttemptSucceeded, Channel, DeliveryEvent, DomainEvent } from '../../src/domain/events.ts';
import { uuidV7Bytes } from '../../src/domain/ids.ts';
import { ordinaryShare } from '../../src/domain/tenant.ts';
import { fixedRetryPolicy } from '../../src/domain/retry-policy.ts';
import type { RetryPolicy } from '../../src/domain/retry-policy.ts';
import { allTopics, defaultPartitioning, deliveriesTopic, workTopics } from '../../src/domain/topics.ts';
import type { Cancels } from '../../src/ports/cancels.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { EventLog } from '../../src/ports/event-log.ts';
import type { Logger } from '../../src/ports/logger.ts';
import type { Metrics } from '../../src/ports/metrics.ts';
import type { Delivery, DeliveryContext, Provider, ProviderRegistry } from '../../src/ports/provider-registry.ts';
import type { RateLimiter } from '../../src/ports/rate-limiter.ts';
import { SecretBoxError } from '../../src/ports/secret-box.ts';
import type { Suppressions } from '../../src/ports/suppressions.ts';
import type { DeliveryDirectory, TenantDirectory } from '../../src/ports/tenant-directory.ts';

export const delivered: DeliveryOutcome = { kind: 'delivered', messageId: 'm-1' };

export function retryable(retryAfterMs: number | null = null): DeliveryOutcome {
  return { kind: 'retryable', reason: { failureClass: 'provider', code: '500', message: 'sorry' }, retryAfterMs };
}

export type Send = (delivery: Delivery, context: DeliveryContext) => Promise<DeliveryOutcome>;

export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Each may be waited for, or reject: with a SecretBoxError it is this one that can't be opened, with another nothing is to be had. */
type KnownSettings = Pick<
  TenantDirectory,
  'share' | 'provider' | 'fallback' | 'webhookSecret' | 'secretsOf' | 'refresh'
>;

export interface ProcessOptions {
  readonly channel?: Channel;
  readonly send?: Send;
  readonly directory?: Partial<KnownSettings>;
  readonly providers?: ProviderRegistry;
  readonly limits?: Partial<DispatcherLimits>;
  readonly retryPolicy?: RetryPolicy;
  readonly from?: StartFrom;
  readonly limiter?: Pick<RateLimiter, 'pace'>;
  readonly suppressions?: Suppressions;
  readonly cancels?: Cancels;
  readonly wrapLog?: (log: EventLog) => EventLog;
  readonly metrics?: Metrics;
}

/** A dispatcher as one process has it. */
export interface DispatcherProcess {
  readonly dispatcher: Dispatcher;
  /** Sends that began, in order. */
  readonly sends: Delivery[];
  readonly lines: LogLine[];
  /** As by kill -9: nothing of it has any effect any more. Its numbers are free once the log is opened anew. */
  kill(): void;
}

export interface World {
  readonly log: EventLog;
  /** What was said of deliveries since the log was opened, in the order of the log. */
  readonly said: DeliveryEvent[];
  append(events: readonly DomainEvent[]): Promise<void>;
  run(options?: ProcessOptions): Promise<DispatcherProcess>;
  /** Closes the log and opens its file again: every process on it must be stopped or killed. */
  reopen(): Promise<void>;
  /** Offset and metadata that the channel's group has committed on the partition of an event. */
  committed(
    event: DomainEvent & { channel: Channel },
    topic: string,
  ): Promise<{ offset: number; metadata: string } | null>;
  close(): Promise<void>;
}

export interface WorldOptions {
  /** Groups that have a position from the start; default: every dispatcher's. */
  readonly groups?: readonly string[];
  readonly codec?: Codec;
}

const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const noMetrics: Metrics = { increment() {}, observe() {}, gauge() {}, gauges() {} };

export async function makeWorld(options: WorldOptions = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-dispatcher-'));
  const groups = (options.groups ?? channels.map(dispatcherGroup)).map((group) => ({ group, topics: workTopics }));
  const processes: DispatcherProcess[] = [];
  const said: DeliveryEvent[] = [];

  function open(): EventLog {
    const log = openEventLog({
      path: join(folder, 'log.db'),
      codec: options.codec ?? createCodec(),
      clock: mortalClock().clock,
      logger: silentLogger,
      partitioning: defaultPartitioning,
      topics: allTopics,
      groups,
    });
    log.tail([deliveriesTopic], ({ event }) => said.push(event as DeliveryEvent));
    return log;
  }

  let log = open();
  return {
    get log() {
      return log;
    },
    said,
    async append(events) {
      const results = await Promise.all(events.map((event) => log.append(event)));
      for (const { kind } of results) if (kind !== 'durable') throw new Error(`an append was ${kind}`);
    },
    async run(processOptions = {}) {
      const started = await startProcess(log, processOptions);
      processes.push(started);
      return started;
    },
    async reopen() {
      await log.close();
      log = open();
    },
    async committed(event, topic) {
      return (await log.committed(dispatcherGroup(event.channel), topic))[partitionOfEvent(event)] ?? null;
    },
    async close() {
      for (const process of processes) process.kill();
      await log.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function outcomesOf(said: readonly DeliveryEvent[]): (AttemptSucceeded | AttemptFailed)[] {
  return said.filter((event) => event.type === 'AttemptSucceeded' || event.type === 'AttemptFailed');
}

function partitionOfEvent(event: DomainEvent): number {
  return 'partition' in event ? event.partition : 0;
}

async function startProcess(log: EventLog, options: ProcessOptions): Promise<DispatcherProcess> {
  const {
    channel = 'WEBHOOK',
    send = () => Promise.resolve(delivered),
    retryPolicy = fixedRetryPolicy([1000, 2000]),
    wrapLog,
  } = options;
  const { clock, die, isAlive } = mortalClock();
  const sends: Delivery[] = [];
  const lines: LogLine[] = [];
  const provider: Provider = {
    channel,
    name: 'fake',
    check: () => [],
    keyGoesBy: () => ({}),
    send(delivery, context) {
      sends.push(delivery);
      return send(delivery, context);
    },
  };
  const live = wrapLog === undefined ? log : wrapLog(log);
  const dispatcher = await runDispatcher({
    channel,
    log: { ...live, append: (event) => (isAlive() ? live.append(event) : never()) },
    directory: mortal(directoryOf(channel, options.directory), isAlive),
    providers: options.providers ?? {
      find: (_, name) => (name === 'fake' ? provider : null),
      builtIn: () => null,
      names: () => ['fake'],
    },
    retryPolicy,
    limiter: options.limiter ?? createMemoryRateLimiter(),
    clock,
    logger: recordTo(lines),
    metrics: options.metrics ?? noMetrics,
    limits: limitsOf(channel, options.limits),
    ...(options.from === undefined ? {} : { from: options.from }),
    ...(options.suppressions === undefined ? {} : { suppressions: options.suppressions }),
    ...(options.cancels === undefined ? {} : { cancels: options.cancels }),
  });
  return { dispatcher, sends, lines, kill: die };
}

/** Where a test says how much may be in flight, it means all lanes, unless it says how much is kept for HIGH. */
function limitsOf(channel: Channel, given: Partial<DispatcherLimits> = {}): DispatcherLimits {
  const limits = defaultDispatcherLimits(channel);
  return { ...limits, ...(given.inFlightMax === undefined ? {} : { inFlightHighOnly: 0 }), ...given };
}

/** Every tenant has the provider `fake`, enabled, unless it is given otherwise. */
function directoryOf(channel: Channel, given: Partial<KnownSettings> = {}): DeliveryDirectory {
  const known: KnownSettings = {
    share: () => Promise.resolve(ordinaryShare),
    provider: (tenantId) => Promise.resolve(settingsOf(tenantId, channel)),
    fallback: () => Promise.resolve(null),
    webhookSecret: () => Promise.resolve('whsec_tenant-secret'),
    secretsOf: () => Promise.resolve(['whsec_tenant-secret', 'nk_key']),
    refresh: () => Promise.resolve(),
    ...given,
  };
  return {
    share: known.share,
    refresh: known.refresh,
    async settings(tenantId) {
      const primary = await opened(known.provider(tenantId, channel));
      const fallback = await opened(known.fallback(tenantId, channel));
      const webhookSecret = await opened(known.webhookSecret(tenantId));
      const secrets = await known.secretsOf(tenantId);
      return {
        provider: (_, role) => (role === 'primary' ? primary() : fallback()),
        webhookSecret,
        formerSigners: () => [],
        secrets: () => secrets,
      };
    },
  };
}

/** What can't be opened throws when it is asked for. */
async function opened<T>(asked: Promise<T>): Promise<() => T> {
  try {
    const found = await asked;
    return () => found;
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    return () => {
      throw error;
    };
  }
}

export function settingsOf(tenantId: Parameters<TenantDirectory['provider']>[0], channel: Channel) {
  const times = { createdAt: 0, updatedAt: 0 };
  return {
    tenantId,
    channel,
    role: 'primary' as const,
    provider: 'fake',
    apiKey: 'sk_provider-key',
    config: {},
    enabled: true,
    ...times,
  };
}

function mortal(directory: DeliveryDirectory, isAlive: () => boolean): DeliveryDirectory {
  return { ...directory, settings: (...args) => (isAlive() ? directory.settings(...args) : never()) };
}

function recordTo(lines: LogLine[]): Logger {
  const level =
    (level: keyof Logger) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      lines.push({ level, message, fields });
    };
  return { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };
}

/** The machine's own time, as long as its process is alive. */
function mortalClock(): { clock: Clock; die: () => void; isAlive: () => boolean } {
  let alive = true;
  const timers = new Set<NodeJS.Timeout>();
  const clock: Clock = {
    now: Date.now,
    monotonic: () => performance.now(),
    random: Math.random,
    randomBytes: (length) => randomBytes(length),
    uuidV7: () => uuidV7Bytes(Date.now(), randomBytes(10)),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (!alive) return;
        if (signal?.aborted === true) return resolve();
        const end = () => {
          clearTimeout(timer);
          timers.delete(timer);
          signal?.removeEventListener('abort', end);
          if (alive) resolve();
        };
        const timer = setTimeout(end, ms);
        timers.add(timer);
        signal?.addEventListener('abort', end);
      }),
  };
  const die = () => {
    alive = false;
    for (const timer of timers) clearTimeout(timer);
  };
  return { clock, die, isAlive: () => alive };
}

function never(): Promise<never> {
  return new Promise(() => {});
}
