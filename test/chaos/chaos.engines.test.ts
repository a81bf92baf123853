// Two processes of every role, joined by a third, stopped, killed and frozen at random under load: nothing is lost, late or counted wrong.
//
//   E2E_CHAOS_MINUTES=15 npm run test:real -- test/chaos     the long run, by hand
//   E2E_CHAOS_SEED=42                                        the same deeds again
//   E2E_CHAOS_PER_SECOND=20 E2E_CHAOS_WAIT_SECONDS=30        the load, and what nothing may wait for longer
//
// What is done is chosen from the seed (plan.ts), what came of it is judged by pure functions (waits.ts, repeats.ts, timeline.ts).

import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { readModels } from '../../src/projections/index.ts';
import { freePorts } from '../support/free-ports.ts';
import type { DataDir } from '../support/herald.ts';
import { herald, makeDataDir } from '../support/herald.ts';
import type { NotificationRecord } from '../support/records.ts';
import { allRecords, groupedBy, statisticsOf, withoutZeros } from '../support/records.ts';
import { until } from '../support/until.ts';
import { attemptLines, readLogLines } from './evidence.ts';
import type { Fleet } from './fleet.ts';
import { createFleet, portsCount } from './fleet.ts';
import type { Load } from './load.ts';
import { createLoad } from './load.ts';
import { makePlan, regularSlots } from './plan.ts';
import type { Probe } from './probe.ts';
import { createProbe } from './probe.ts';
import { createRandom } from './random.ts';
import type { Receivers } from './receivers.ts';
import { startReceivers } from './receivers.ts';
import type { Repeat } from './repeats.ts';
import { repeatsOf } from './repeats.ts';
import type { Evidence, Fault } from './report.ts';
import { standstillsSaid, tellOf, tellRepeats, worst } from './report.ts';
import type { Tenant } from './tenants.ts';
import { makeTenants } from './tenants.ts';
import type { JudgedWait } from './waits.ts';
import { judged, waitsOf } from './waits.ts';
import { createWatcher } from './watcher.ts';

const forMs = Number(process.env['E2E_CHAOS_MINUTES'] ?? '0.4') * 60_000;
const perSecond = Number(process.env['E2E_CHAOS_PER_SECOND'] ?? '20');
const seed = Number(process.env['E2E_CHAOS_SEED'] ?? String(Date.now() % 1_000_000));
/** A short run's freezes are short, but longer than a session (10 s). */
const frozenMs = { frozenMsMin: 5_000, frozenMsMax: Math.max(12_000, Math.min(40_000, forMs / 4)) };
/** A machine that many share needs more: then no process has its turn for seconds, and sessions end that nobody froze. */
const waitMaxMs = Number(process.env['E2E_CHAOS_WAIT_SECONDS'] ?? '30') * 1000;
/** After the last deed: a session, the longest row of retries, and the folds. */
const endsWithinMs = 120_000;
/** A short run ends soon. */
const scheduledMsMax = Math.min(20_000, forMs / 3);
/** The watchdog looks every 5 s. */
const saidWithinMs = 10_000;
const toldEveryMs = 10_000;

const final = new Set(['DELIVERED', 'FAILED']);
let folder: string;
let dataDir: DataDir;
let receivers: Receivers;
let fleet: Fleet;
let tenants: readonly Tenant[];
let load: Load;
let probe: Probe;
let records: Map<number, NotificationRecord>;
let waits: readonly JudgedWait[];
let repeats: readonly Repeat[];
let evidence: Evidence;
/** Tests that haven't passed; what failed leaves its evidence. */
let open = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-chaos-'));
  tell(`seed ${seed}, ${forMs / 1000} s, ${perSecond} a second; logs and metrics of the processes in ${folder}`);
  dataDir = await makeDataDir();
  receivers = await startReceivers((n) => load.sendings[n]?.kind ?? 'plain');
  const environment = { ...dataDir.environment, ...receivers.environment };
  fleet = createFleet({ environment, logFolder: folder, firstPort: await freePorts(portsCount), tell });
  const { apiUrls } = fleet;
  await fleet.allReady(['api-1']);
  // Before the others start, which would look for changed settings every 2 s.
  tenants = await makeTenants({ dataDir, apiUrls: apiUrls.slice(0, 1), mailPort: receivers.mailPort });
  await fleet.allReady(regularSlots);
  const { webhooksUrl, arrivals } = receivers;
  load = createLoad({ random: createRandom(seed + 1), perSecond, tenants, apiUrls, webhooksUrl, scheduledMsMax });
  probe = createProbe({ sendings: load.sendings, arrivals, apiUrls, webhooksUrl });
  await wreak();
  await judge();
}, forMs + 600_000);

afterAll(async () => {
  await fleet.killAll();
  await receivers.close();
  await dataDir.remove();
  if (open === 0) await rm(folder, { recursive: true });
  else tell(`seed ${seed}; what the processes said and measured is kept in ${folder}`);
}, 120_000);

guarantee(
  'nothing that was accepted is lost',
  async () => {
    await holds(
      load.sendings.flatMap(({ n, accepted }) => {
        const { status = 'no record' } = records.get(n) ?? {};
        return accepted === null || final.has(status) ? [] : [{ n, at: accepted.at, why: `is left behind, ${status}` }];
      }),
    );
  },
  120_000,
);

guarantee(
  'nothing waits for longer than it may (30 s) from when it was due and somebody alive could send it',
  async () => {
    const late = waits.filter(({ unexcusedMs }) => unexcusedMs > waitMaxMs);
    await holds(
      late.map(({ n, step, ms, unexcusedMs, from }) => ({
        n,
        at: from + waitMaxMs,
        why: `${step} waited ${ms} ms, ${unexcusedMs} unexcused; said: ${standstillsSaid(evidence.lines, from, from + ms + saidWithinMs)}`,
      })),
    );
  },
  120_000,
);

guarantee(
  'what came more often than its attempts came so for a kill or a freeze',
  async () => {
    const unexplained = repeats.filter(({ reason }) => reason === null);
    await holds(unexplained.map(({ n, at }) => ({ n, at, why: 'came again without a reason' })));
  },
  120_000,
);

guarantee('no process ended by itself, and each left within 40 s of SIGTERM', async () => {
  expect(fleet.happened.filter(({ what }) => what === 'fell')).toEqual([]);
});

guarantee(
  'one record each, and the statistics are those of the records',
  async () => {
    for (const tenant of tenants) {
      const own = await allRecords(tenant);
      expect(new Set(own.map(({ id }) => id)).size).toBe(own.length);
      const { total, statusCounts, channelCounts, priorityCounts } = await statisticsOf(tenant);
      expect(total).toBe(own.length);
      expect(withoutZeros(statusCounts)).toEqual(groupedBy(own, 'status'));
      expect(withoutZeros(channelCounts)).toEqual(groupedBy(own, 'channel'));
      expect(withoutZeros(priorityCounts)).toEqual(groupedBy(own, 'priority'));
    }
  },
  300_000,
);

guarantee(
  'read models that lived through it equal those folded again from the log',
  async () => {
    await Promise.all(fleet.running().map(({ slot }) => fleet.run({ slot, does: 'stop' })));
    const { code, stdout, stderr } = await herald(['rebuild'], dataDir.environment);
    const told = stdout + stderr;
    tell(told.trim());
    for (const {
      definition: { name },
    } of readModels)
      expect({ code, told }).toMatchObject({ code: 0, told: expect.stringMatching(`${name}: .*equal to`) });
    expect(told).not.toContain('NOT equal');
  },
  180_000,
);

function guarantee(name: string, body: () => Promise<void>, timeoutMs?: number): void {
  open += 1;
  it(
    name,
    async () => {
      await body();
      open -= 1;
    },
    timeoutMs,
  );
}

/** Load and deeds, side by side; then whoever is away comes back and everything has its time to end. */
async function wreak(): Promise<void> {
  const plan = makePlan(createRandom(seed), { forMs, everyMs: 5_000, ...frozenMs });
  const watcher = createWatcher(fleet, folder);
  const startedAt = Date.now();
  const ownDelay = monitorEventLoopDelay();
  ownDelay.enable();
  const telling = setInterval(tellState, toldEveryMs);
  watcher.start();
  load.start();
  probe.start();
  const deeds: Promise<void>[] = [];
  for (const { atMs, ...step } of plan) {
    if (atMs >= forMs) break;
    await at(startedAt + atMs);
    deeds.push(fleet.run(step));
  }
  await at(startedAt + forMs);
  await load.stop();
  await Promise.all(deeds);
  await fleet.allReady(regularSlots).catch((error: unknown) => tell(String(error)));
  tell(`the load is over: ${load.sendings.length} posted, ${acceptedCount()} accepted`);
  await until(isAllDone, { timeoutMs: endsWithinMs, everyMs: 500, what: 'the end' }).catch(() => undefined);
  clearInterval(telling);
  await probe.stop();
  await watcher.stop();
  ownDelay.disable();
  tell(
    `this process's own event loop stood for ${Math.round(ownDelay.max / 1e6)} ms at most; load ${loadavg()[0]?.toFixed(1)}`,
  );
  tell(`memory at most, MiB: ${[...watcher.highestMemory()].map(([role, mib]) => `${role} ${mib}`).join(', ')}`);
}

/** By what the receivers saw, and then by the records of what was accepted. */
async function isAllDone(): Promise<boolean> {
  const isSent = load.sendings.every(({ n, channel, accepted }) => {
    const last = receivers.arrivals.get(n)?.at(-1);
    return accepted === null || channel === 'IN_APP' || last?.answer === 'taken' || last?.answer === 'refused';
  });
  if (!isSent) return false;
  records = await readRecords();
  return [...records.values()].every(({ status }) => final.has(status)) && load.sendings.every(isAcceptedFinal);
}

async function judge(): Promise<void> {
  records = await readRecords();
  const over = Date.now();
  const { sendings } = load;
  const { arrivals } = receivers;
  const deliveredAt = (n: number) => timeOf(records.get(n)?.['deliveredAt']);
  const lines = await readLogLines(folder);
  const attempts = attemptLines(lines);
  const stepWaits = sendings.flatMap((sending) => {
    const own = attempts.get(sending.accepted?.id ?? '') ?? [];
    return waitsOf(sending, arrivals.get(sending.n) ?? [], own, deliveredAt);
  });
  waits = judged([...stepWaits, ...probe.waits()], fleet.happened, over);
  repeats = [...records].flatMap(([n, { id, attemptCount }]) =>
    repeatsOf(n, arrivals.get(n) ?? [], attemptCount, attempts.get(id) ?? [], fleet.happened),
  );
  evidence = { prefix: dataDir.environment['KAFKA_PREFIX'] ?? '', load, arrivals, happened: fleet.happened, lines };
  tell(`answers: ${[...load.statuses].map(([status, count]) => `${count} x ${status ?? 'nothing'}`).join(', ')}`);
  tell(`${records.size} records, ${[...arrivals.values()].flat().length} messages; longest waits: ${worst(waits)}`);
  tell(tellRepeats(repeats));
  for (const { n, at, reason } of repeats) appendFileSync(join(folder, 'repeats.txt'), `${n} ${at} ${reason ?? '-'}\n`);
  tell(`said to stand still: ${standstillsSaid(lines, 0, over)}`);
}

async function readRecords(): Promise<Map<number, NotificationRecord>> {
  const all = await Promise.all(tenants.map((tenant) => allRecords(tenant)));
  return new Map(all.flat().map((record) => [Number(/order (\d+)/.exec(String(record['body']))?.[1]), record]));
}

/** Fails with all that is known about the faults. */
async function holds(faults: readonly Fault[]): Promise<void> {
  if (faults.length === 0) return;
  const told = await tellOf(evidence, faults);
  tell(told);
  throw new Error(`${faults.length} notifications, seed ${seed}:\n${told}`);
}

function isFinal(n: number): boolean {
  return final.has(records.get(n)?.status ?? '');
}

function isAcceptedFinal({ n, accepted }: Load['sendings'][number]): boolean {
  return accepted === null || isFinal(n);
}

function acceptedCount(): number {
  return load.sendings.filter(({ accepted }) => accepted !== null).length;
}

function tellState(): void {
  const { size } = receivers.arrivals;
  const folds = probe.waits().filter(({ to }) => to === null);
  const oldest = folds.reduce((ms, { from }) => Math.max(ms, Date.now() - from), 0);
  tell(
    `${load.sendings.length} posted, ${acceptedCount()} accepted, ${size} arrived; oldest that doesn't show yet ${oldest} ms`,
  );
}

function timeOf(text: unknown): number | null {
  return typeof text === 'string' ? Date.parse(text) : null;
}

async function at(time: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, time - Date.now())));
}

/** While it runs, past jest, which would hold it back; and into the folder. */
function tell(line: string): void {
  const told = `${new Date().toISOString().slice(11, 23)} ${line}\n`;
  process.stderr.write(told);
  appendFileSync(join(folder, 'timeline.txt'), told);
}
