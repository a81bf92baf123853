// Metrics in Prometheus's text format, by prom-client; those of worker threads are added in when they are read.

import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  type MetricObject,
  Registry,
} from 'prom-client';

import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  labelNames,
  type MetricLabels,
  type Metrics,
} from '../../ports/metrics.ts';

/** What one thread has counted; plain data, to be posted to another. */
export type MetricsSnapshot = readonly MetricObject[];

export interface MetricsRegistry extends Metrics {
  /** The page, with what other threads counted added in: counters, histograms and gauges are sums. */
  read(ofOthers?: readonly MetricsSnapshot[]): Promise<string>;
  snapshot(): Promise<MetricsSnapshot>;
  readonly contentType: string;
}

export interface MetricsOptions {
  /** Memory, CPU, event loop and the like; of one thread in a process. */
  readonly processMetrics: boolean;
  /** The name under which this thread's event loop is watched; absent: it isn't. */
  readonly thread?: string;
}

export function createMetrics(options: MetricsOptions = { processMetrics: true, thread: 'main' }): MetricsRegistry {
  const registry = new Registry();
  if (options.processMetrics) collectDefaultMetrics({ register: registry });
  const counters = mapEntries(
    counterHelp,
    (name, help) => new Counter({ name, help, labelNames, registers: [registry] }),
  );
  const histograms = mapEntries(
    histogramHelp,
    (name, help) => new Histogram({ name, help, labelNames, buckets: secondsBuckets, registers: [registry] }),
  );
  const gauges = mapEntries(gaugeHelp, (name, help) => askedGauge(registry, name, help));
  if (options.thread !== undefined)
    gauges.herald_event_loop_delay_seconds.one(watchEventLoop(), { thread: options.thread });
  return {
    increment: (name, labels = noLabels, by = 1) => counters[name].inc(labels, by),
    observe: (name, value, labels = noLabels) => histograms[name].observe(labels, value),
    gauge: (name, read, labels = noLabels) => gauges[name].one(read, labels),
    gauges: (name, read, labels = noLabels) => gauges[name].all(read, labels),
    async read(ofOthers = []) {
      if (ofOthers.length === 0) return registry.metrics();
      const own = await registry.getMetricsAsJSON();
      return AggregatorRegistry.aggregate([own, ...ofOthers]).metrics();
    },
    snapshot: () => registry.getMetricsAsJSON(),
    contentType: registry.contentType,
  };
}

const noLabels: MetricLabels = {};

/** From half a millisecond to the attempts' deadline of 15 s and a little over. */
const secondsBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];

const counterHelp: Readonly<Record<CounterName, string>> = {
  herald_accepted_total: 'Notifications accepted: durable in the log',
  herald_appends_failed_total: 'Appends that the log did not acknowledge, by whether they may be in it',
  herald_breakers_opened_total:
    'Times that a breaker opened: a provider, or a receiver of webhooks, is left alone for a while',
  herald_attempts_total: 'Delivery attempts that ended, by provider, what became of them, and the class of failure',
  herald_connections_refused_total:
    'Connections closed as they came, and requests of a proxy refused, by whose room was taken',
  herald_connections_cut_total:
    'Connections of callers cut for a body in too many pieces, or for requests without waiting for answers',
  herald_callbacks_total: 'Calls of providers that report what became of messages, by how they ended',
  herald_dead_letters_total: 'Events whose bytes do not decode',
  herald_documents_cut_total: 'Documents too large for the store, stored with their texts cut or not at all',
  herald_downloads_ended_total: 'Downloads that ended, by how',
  herald_erased_total: 'Notifications that an erasure has named: nothing is shown of them any more',
  herald_erasure_events_read_total: 'Events of the log that erasures have read for what the records do not tell of',
  herald_fold_failures_total: 'Batches that could not be folded and are tried again',
  herald_folded_ahead_total: 'Events folded before their turn, past what one tenant has on their number',
  herald_folded_events_total: 'Events folded into a read model',
  herald_forgotten_total: 'Notifications whose retention ended: no read model shows them any more',
  herald_given_back_bytes_total: 'Bytes of free space that a file gave back to the disk',
  herald_http_requests_total: 'HTTP requests answered',
  herald_jobs_ended_total: 'Jobs that ended, by how',
  herald_numbers_owned_again_total:
    'Partition numbers of a read model that were given up and owned again while their claim went on',
  herald_rebuild_differences_total: 'Documents that a rebuilt read model has otherwise than the one that was in use',
  herald_reports_total:
    'Reports of providers by what they tell; foreign: of messages that carry no id of a notification; unreadable: in a form that is not known',
  herald_replayed_total: 'Requests answered again by their Idempotency-Key: accepted before',
  herald_items_made_total: "Items of batches whose events the items' thread has made",
  herald_stalls_total: 'How often a partition number of a group stood still for 30 s, counted for each 30 s of it',
  herald_streams_ended_total: 'Event streams that ended, by why',
  herald_timers_fired_total: 'Timers that fired',
  herald_trimmed_events_total: 'Events that were taken out of the log, since retention had ended for them',
};

const histogramHelp: Readonly<Record<HistogramName, string>> = {
  herald_accept_seconds: 'From the request of a notification to its answer',
  herald_attempt_seconds: 'Duration of a delivery attempt',
  herald_append_seconds: 'From an append to its acknowledgement by the log',
  herald_timer_late_seconds: 'From when a timer was due to when it fired',
};

const gaugeHelp: Readonly<Record<GaugeName, string>> = {
  herald_answers_bytes: 'Bytes of answers that wait for their readers, or for which room is taken',
  herald_append_queue: 'Events that wait to be appended',
  herald_breaker_open_seconds:
    'How long a provider of a tenant has not been called but to try it, of the twenty longest',
  herald_breakers: 'Breakers of this process that are not closed, by channel and state',
  herald_batch_wait_seconds:
    'How long items of batches have waited for their turn to be appended, of those that wait longest',
  herald_connections_waiting:
    'Connections that wait to be read: new ones of an address that has many, and all of one that sends what costs',
  herald_refusals_waiting:
    'Refusals whose callers are refused more than 100 times a second: they are answered within 2 s',
  herald_batches_waiting: 'Batches that wait until there is room to take them in',
  herald_backlog: 'Events that the log has and a group has not done',
  herald_downloads: 'Downloads that are under way',
  herald_disk_free_bytes: 'Bytes that are free on the disk of DATA_DIR',
  herald_event_loop_delay_seconds: 'The longest delay of the event loop since it was last asked for',
  herald_in_flight: 'Delivery attempts in flight',
  herald_jobs: 'Jobs of all tenants that are not over, as of the last look, by state',
  herald_lane_age_seconds: 'How long ago the longest waiting delivery of a lane could have been sent',
  herald_lane_depth: 'Deliveries read ahead that wait in a lane',
  herald_log_bytes: 'Bytes of the log on disk',
  herald_log_wal_pages: 'Pages of 4 KiB that the write-ahead file of the log holds and log.db does not yet',
  herald_outbound_connections: 'Connections to receivers and providers over HTTP that are open, in use or kept',
  herald_tls_handshakes_waiting:
    'Connections to receivers that are open and wait for their TLS handshake, since others of their tenant failed',
  herald_outbound_in_flight: 'Requests and connections to the outside that are under way',
  herald_partitions_without_leader:
    'Partitions of the log on Kafka that no broker leads, as far as this process has heard',
  herald_projector_lag: 'Seconds that a read model is behind the log',
  herald_read_model_catching_up: "Whether the read model is folded from the log's beginning, or its indexes are made",
  herald_rebuild_standing_still: 'Whether nothing was folded for 30 s into a read model that is filled beside another',
  herald_rebuild_events: 'Events that a read model which is filled beside another has folded, and has left',
  herald_redis_up: '1 while limits hold over all processes; 0 while Redis is away and each process has its own',
  herald_retention_horizon_seconds:
    'UNIX time before which nothing that has ended is kept, by RETENTION; 0: it is for ever',
  herald_retention_lag_seconds:
    'How long retention has been over for the oldest of what is to be taken away and is still there',
  herald_retention_seconds:
    'The shortest retention in force, of everybody and of tenants of their own; 0: there is none',
  herald_suppressions: 'Recipients on the suppression lists of all tenants, in memory',
  herald_standing_still: 'Partition numbers of a group that have work and have stood still for 30 s',
  herald_streams: 'Open event streams',
  herald_tenant_busy_seconds:
    'How long requests, reads and streams of a tenant have held the main thread, of the twenty that did most of late',
  herald_timers_due: 'Notifications whose timers are due and being decided',
  herald_topics: 'Topics of the log on Kafka that lose events by their own settings, or of which that can not be asked',
};

/** A gauge whose values are asked for when it is read: the last function given for a set of labels counts. */
function askedGauge(registry: Registry, name: string, help: string): AskedGauge {
  const askedAll = new Map<string, () => readonly (readonly [MetricLabels, number])[]>();
  const asked = new Map<string, { readonly labels: MetricLabels; readonly read: () => number }>();
  const gauge = new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      if (askedAll.size > 0) gauge.reset();
      for (const { labels, read } of asked.values()) gauge.set(labels, read());
      for (const readAll of askedAll.values()) for (const [labels, value] of readAll()) gauge.set(labels, value);
    },
  });
  return {
    one(read, labels) {
      asked.set(JSON.stringify(labels), { labels, read });
    },
    all(read, ofAll) {
      const withAll = () => read().map(([labels, value]) => [{ ...ofAll, ...labels }, value] as const);
      askedAll.set(JSON.stringify(ofAll), withAll);
    },
  };
}

interface AskedGauge {
  one(read: () => number, labels: MetricLabels): void;
  all(read: () => readonly (readonly [MetricLabels, number])[], ofAll: MetricLabels): void;
}

/** It is asked this often whether the loop turns: shorter delays don't show. */
const loopResolutionMs = 20;

/**
 * The longest delay since the last call, in seconds; of one that still lasts, as much as has passed. Node's own monitor doesn't see one that begins within a
 * tick of its `reset`.
 */
function watchEventLoop(): () => number {
  let lookedAt = performance.now();
  let longestMs = 0;
  const look = (): void => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - lookedAt - loopResolutionMs);
    lookedAt = now;
  };
  setInterval(look, loopResolutionMs).unref();
  return () => {
    look();
    const seconds = longestMs / 1000;
    longestMs = 0;
    return seconds;
  };
}

function mapEntries<K extends string, T>(
  of: Readonly<Record<K, string>>,
  make: (name: K, help: string) => T,
): Readonly<Record<K, T>> {
  const entries = Object.entries(of) as [K, string][];
  return Object.fromEntries(entries.map(([name, help]) => [name, make(name, help)])) as Record<K, T>;
}
