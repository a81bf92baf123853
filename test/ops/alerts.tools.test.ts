// The rules of ops/prometheus by promtool: each fires on what it is there for and on nothing else, and the board's queries are queries.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { stringify } from 'yaml';

import { alertRules, boardQueries, rulesPath } from './ops-files.ts';
import { findPromtool } from './promtool.ts';

const run = promisify(execFile);
let promtool: string;
let work: string;

beforeAll(async () => {
  promtool = await findPromtool();
  work = await mkdtemp(join(tmpdir(), 'herald-rules-'));
}, 300_000);

afterAll(() => rm(work, { recursive: true, force: true }));

type Labels = Readonly<Record<string, string>>;

interface Case {
  /** By what Prometheus writes of a series; a value a minute. */
  readonly series: Readonly<Record<string, string>>;
  /** What the alert carries beside its severity. */
  readonly labels?: Labels;
}

/** 40 minutes of one value. */
const steady = (value: number | string) => `${value}x40`;
const rising = '0+1x40';
/** Every observation took between the two bounds: p99 is above the lower one. */
const slow = (name: string, below: string, above: string): Readonly<Record<string, string>> => ({
  [`${name}_bucket{le="${below}"}`]: steady(0),
  [`${name}_bucket{le="${above}"}`]: rising,
  [`${name}_bucket{le="+Inf"}`]: rising,
});
const gib = 1024 ** 3;

/** What makes each of them fire. */
const cases: Readonly<Record<string, Case>> = {
  HeraldDown: { series: { 'up{job="herald"}': steady(0) }, labels: { job: 'herald' } },
  HeraldAppendsSlow: { series: slow('herald_append_seconds', '1', '2.5') },
  HeraldAppendsFail: {
    series: { 'herald_appends_failed_total{outcome="refused"}': rising },
    labels: { outcome: 'refused' },
  },
  HeraldDiskFull: { series: { herald_disk_free_bytes: steady(gib) } },
  HeraldDiskFills: { series: { herald_disk_free_bytes: `${200 * gib}-${gib}x40` } },
  HeraldAppendQueueLong: { series: { herald_append_queue: steady(1001) } },
  HeraldBatchesWait: { series: { herald_batch_wait_seconds: steady(1.6) } },
  HeraldAcceptsSlow: { series: slow('herald_accept_seconds', '1', '2.5') },
  HeraldAnswersHeld: { series: { herald_answers_bytes: steady(60 * 1024 * 1024) } },
  HeraldHighLaneOld: {
    series: { 'herald_lane_age_seconds{channel="EMAIL",lane="high"}': steady(61) },
    labels: { channel: 'EMAIL', lane: 'high' },
  },
  HeraldHighLaneDeep: {
    series: { 'herald_lane_depth{channel="SMS",lane="high"}': steady(1001) },
    labels: { channel: 'SMS', lane: 'high' },
  },
  HeraldInFlightAtCap: {
    series: { 'herald_in_flight{channel="WEBHOOK"}': steady(160) },
    labels: { channel: 'WEBHOOK' },
  },
  HeraldReadModelBehind: {
    series: { 'herald_projector_lag{read_model="inbox_2"}': steady(31) },
    labels: { read_model: 'inbox_2' },
  },
  HeraldSearchBehind: {
    series: { 'herald_projector_lag{read_model="search_2"}': steady(901) },
    labels: { read_model: 'search_2' },
  },
  HeraldStandsStill: {
    series: { 'herald_standing_still{group="dispatcher-sms"}': steady(1) },
    labels: { group: 'dispatcher-sms' },
  },
  HeraldRetentionBehind: {
    series: { herald_retention_lag_seconds: steady(25_000), herald_retention_seconds: steady(30 * 24 * 3600) },
  },
  HeraldTopicsLose: { series: { 'herald_topics{state="losing"}': steady(1) }, labels: { state: 'losing' } },
  HeraldRebuildStandsStill: {
    series: { 'herald_rebuild_standing_still{read_model="notifications_2"}': steady(1) },
    labels: { read_model: 'notifications_2' },
  },
  HeraldFoldFails: {
    series: { 'herald_fold_failures_total{read_model="timers"}': rising },
    labels: { read_model: 'timers' },
  },
  HeraldDocumentCut: {
    series: { 'herald_documents_cut_total{read_model="notifications_2"}': '0x25 1x15' },
    labels: { read_model: 'notifications_2' },
  },
  HeraldNumbersOwnedAgain: {
    series: { 'herald_numbers_owned_again_total{read_model="timers"}': rising },
    labels: { read_model: 'timers' },
  },
  HeraldDeadLetters: {
    series: { 'herald_dead_letters_total{topic="notifications.sms.high"}': '0x25 1x15' },
    labels: { topic: 'notifications.sms.high' },
  },
  HeraldAttemptsFail: {
    series: {
      'herald_attempts_total{channel="SMS",provider="twilio",outcome="retrying",class="system"}': '0x25 1x15',
      'herald_attempts_total{channel="SMS",provider="twilio",outcome="failed",class="recipient"}': rising,
    },
  },
  HeraldBreakerOpen: {
    series: { 'herald_breaker_open_seconds{channel="SMS",tenant="t",provider="twilio"}': '_x5 1+60x35' },
    labels: { channel: 'SMS', tenant: 't', provider: 'twilio' },
  },
  HeraldTenantBusy: { series: { 'herald_tenant_busy_seconds{tenant="t"}': '0+20x40' }, labels: { tenant: 't' } },
  HeraldConnectionsRefused: {
    series: { 'herald_connections_refused_total{reason="address"}': '0x25 1x15' },
    labels: { reason: 'address' },
  },
  HeraldTimersLate: { series: slow('herald_timer_late_seconds', '10', '15') },
  HeraldLoopBlocked: {
    series: { 'herald_event_loop_delay_seconds{thread="main"}': steady('1.5') },
    labels: { thread: 'main' },
  },
  HeraldStreamsDropped: {
    series: { 'herald_streams_ended_total{reason="slow"}': '0+5x40' },
    labels: { reason: 'slow' },
  },
  HeraldErrors: { series: { 'herald_http_requests_total{method="POST",route="/notify",status="500"}': '0x25 1x15' } },
  HeraldUnavailable: {
    series: {
      'herald_http_requests_total{method="POST",route="/notify",status="202"}': '0+60x40',
      'herald_http_requests_total{method="POST",route="/notify",status="503"}': rising,
    },
  },
  HeraldRedisDown: { series: { herald_redis_up: steady(0) } },
};

/** A service that does well: every series of the cases, where it should be. */
const well: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.values(cases).flatMap(({ series }) => Object.keys(series).map((name) => [name, steady(0)])),
  ),
  'up{job="herald"}': steady(1),
  herald_redis_up: steady(1),
  herald_retention_seconds: steady(30 * 24 * 3600),
  herald_retention_lag_seconds: steady(3 * 3600),
  herald_disk_free_bytes: steady(200 * gib),
  'herald_lane_age_seconds{channel="EMAIL",lane="bulk"}': steady(4000),
  'herald_projector_lag{read_model="search_2"}': steady(300),
  'herald_attempts_total{channel="SMS",provider="twilio",outcome="failed",class="recipient"}': rising,
  'herald_append_seconds_bucket{le="1"}': rising,
  'herald_append_seconds_bucket{le="+Inf"}': rising,
  'herald_http_requests_total{method="POST",route="/notify",status="202"}': '0+60x40',
};

/** They wait for half an hour. */
const slowAlerts = new Set(['HeraldDiskFills', 'HeraldBreakerOpen', 'HeraldRetentionBehind']);

const inputOf = (series: Readonly<Record<string, string>>) =>
  Object.entries(series).map(([name, values]) => ({ series: name, values }));

it('each alert fires on what it is there for', async () => {
  const rules = alertRules();
  expect(rules.map(({ alert }) => alert).toSorted()).toEqual(Object.keys(cases).toSorted());
  const tests = rules.map(({ alert, labels, annotations }) => {
    const { series, labels: more = {} } = cases[alert] ?? { series: {} };
    const fired = { exp_labels: { ...labels, ...more }, exp_annotations: annotations };
    return {
      name: alert,
      interval: '1m',
      input_series: inputOf(series),
      alert_rule_test: [{ eval_time: slowAlerts.has(alert) ? '40m' : '30m', alertname: alert, exp_alerts: [fired] }],
    };
  });
  await passes('fires.yml', tests);
}, 120_000);

it('HeraldDown fires where no process is known, too: what finds them forgets those that are gone', async () => {
  const down = alertRules().filter(({ alert }) => alert === 'HeraldDown');
  const fired = down.map(({ labels, annotations }) => ({
    exp_labels: { ...labels, job: 'herald' },
    exp_annotations: annotations,
  }));
  const elsewhere = inputOf({ 'up{job="another"}': steady(1) });
  const check = { eval_time: '5m', alertname: 'HeraldDown', exp_alerts: fired };
  await passes('unknown.yml', [{ interval: '1m', input_series: elsewhere, alert_rule_test: [check] }]);
}, 120_000);

it('none fires while the service does well', async () => {
  const checks = alertRules().map(({ alert }) => ({ eval_time: '40m', alertname: alert, exp_alerts: [] }));
  await passes('well.yml', [{ interval: '1m', input_series: inputOf(well), alert_rule_test: checks }]);
}, 120_000);

it('every query of the board is one', async () => {
  const rules = boardQueries().map((expr, i) => ({ record: `board:query_${i}`, expr }));
  const path = join(work, 'board.yml');
  await writeFile(path, stringify({ groups: [{ name: 'board', rules }] }));
  const { stdout } = await run(promtool, ['check', 'rules', path]);
  expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});

async function passes(name: string, tests: readonly object[]): Promise<void> {
  const path = join(work, name);
  await writeFile(path, stringify({ rule_files: [rulesPath], evaluation_interval: '1m', tests }));
  const said = await run(promtool, ['test', 'rules', path]).then(
    ({ stdout }) => stdout,
    (error: { readonly stdout: string; readonly stderr: string }) => `${error.stdout}\n${error.stderr}`,
  );
  expect(said).toContain('SUCCESS');
}
