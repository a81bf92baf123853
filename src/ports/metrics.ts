// Counters and measured values, by the names of metricNames; labels are few and never a recipient or an id; a tenant's in two of them alone, for twenty tenants each.

/** The labels that there are; a metric carries those that it is given. */
export const labelNames = [
  'channel',
  'class',
  'file',
  'group',
  'lane',
  'method',
  'outcome',
  'provider',
  'read_model',
  'reason',
  'route',
  'state',
  'status',
  'tenant',
  'thread',
  'topic',
] as const;

export type MetricLabels = Readonly<Partial<Record<(typeof labelNames)[number], string>>>;

export interface Metrics {
  /** By 0 where a label is known before its first event: what has never been counted can't be seen to rise. */
  increment(name: CounterName, labels?: MetricLabels, by?: number): void;
  observe(name: HistogramName, value: number, labels?: MetricLabels): void;
  /** The value is asked for when the metrics are read. */
  gauge(name: GaugeName, read: () => number, labels?: MetricLabels): void;
  /** The same, of labels that change: those that were there at the last reading alone are shown. `labels` are those of all of them. */
  gauges(name: GaugeName, read: () => readonly (readonly [MetricLabels, number])[], labels?: MetricLabels): void;
}

export type CounterName =
  | 'herald_accepted_total'
  | 'herald_appends_failed_total'
  | 'herald_attempts_total'
  | 'herald_breakers_opened_total'
  | 'herald_callbacks_total'
  | 'herald_connections_refused_total'
  | 'herald_connections_cut_total'
  | 'herald_dead_letters_total'
  | 'herald_documents_cut_total'
  | 'herald_downloads_ended_total'
  | 'herald_erased_total'
  | 'herald_erasure_events_read_total'
  | 'herald_fold_failures_total'
  | 'herald_folded_ahead_total'
  | 'herald_folded_events_total'
  | 'herald_forgotten_total'
  | 'herald_given_back_bytes_total'
  | 'herald_http_requests_total'
  | 'herald_jobs_ended_total'
  | 'herald_numbers_owned_again_total'
  | 'herald_rebuild_differences_total'
  | 'herald_replayed_total'
  | 'herald_items_made_total'
  | 'herald_reports_total'
  | 'herald_stalls_total'
  | 'herald_streams_ended_total'
  | 'herald_timers_fired_total'
  | 'herald_trimmed_events_total';

/** Seconds, all of them. */
export type HistogramName =
  | 'herald_accept_seconds'
  | 'herald_append_seconds'
  | 'herald_attempt_seconds'
  | 'herald_timer_late_seconds';

export type GaugeName =
  | 'herald_answers_bytes'
  | 'herald_append_queue'
  | 'herald_backlog'
  | 'herald_batch_wait_seconds'
  | 'herald_batches_waiting'
  | 'herald_connections_waiting'
  | 'herald_refusals_waiting'
  | 'herald_breakers'
  | 'herald_breaker_open_seconds'
  | 'herald_disk_free_bytes'
  | 'herald_downloads'
  | 'herald_event_loop_delay_seconds'
  | 'herald_in_flight'
  | 'herald_jobs'
  | 'herald_lane_age_seconds'
  | 'herald_lane_depth'
  | 'herald_log_bytes'
  | 'herald_log_wal_pages'
  | 'herald_outbound_in_flight'
  | 'herald_outbound_connections'
  | 'herald_tls_handshakes_waiting'
  | 'herald_partitions_without_leader'
  | 'herald_projector_lag'
  | 'herald_rebuild_events'
  | 'herald_rebuild_standing_still'
  | 'herald_read_model_catching_up'
  | 'herald_redis_up'
  | 'herald_retention_horizon_seconds'
  | 'herald_retention_lag_seconds'
  | 'herald_retention_seconds'
  | 'herald_standing_still'
  | 'herald_suppressions'
  | 'herald_streams'
  | 'herald_tenant_busy_seconds'
  | 'herald_timers_due'
  | 'herald_topics';
