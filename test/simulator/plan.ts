// What a seed stands for: tenants and their receivers, what is asked for, and what goes wrong, when.

import { assertNever } from '../../src/domain/assert-never.ts';
import { clocksDifferMs } from '../../src/domain/lease.ts';
import type { Priority } from '../../src/domain/events.ts';
import { priorities } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { JobKind } from '../../src/domain/job.ts';
import type { Random } from '../chaos/random.ts';
import { createRandom } from '../chaos/random.ts';
import { accountLimits } from '../../src/dispatchers/partition-account.ts';
import type { AccountLimits } from '../../src/dispatchers/partition-account.ts';
import { crowdOf, isCrowd } from './crowds.ts';
import { isStorm, stormOf } from './storms.ts';

/**
 * chaos: everything goes wrong. moves: processes come and go in an orderly way, so nothing may be sent twice.
 * erasures: recipients and tenants are erased while everything goes wrong.
 * jobs: what has failed is sent again and what waits is cancelled, many in one call, while everything goes wrong.
 * keys: what has an Idempotency-Key is asked for again and again, of whichever process, while everything goes wrong.
 * retention: what has ended is forgotten and goes from the log, while everything goes wrong.
 * crowd: many tenants of whom hardly any may have surplus in the log (crowds.ts).
 * neighbours: tenants that are slow, large and many, and one that isn't. shares, lanes: backlogs that are worked off by turns. rate: a tenant's own limit.
 */
export const scenarios = [
  'chaos',
  'erasures',
  'jobs',
  'keys',
  'moves',
  'retention',
  'neighbours',
  'shares',
  'lanes',
  'rate',
  'crowd',
] as const;
export type Scenario = (typeof scenarios)[number];
/** Crowds are asked for by their seeds. */
type UsualScenario = Exclude<Scenario, 'crowd'>;

export interface TenantPlan {
  readonly id: TenantId;
  /** How long a receiver takes to answer, ms, at most. */
  readonly answerMs: number;
  /** Of 100 attempts, how many fail in which way; the rest succeed. */
  readonly failing: Readonly<Record<Failure, number>>;
  readonly maxPerSecond: number | null;
  readonly weight: number;
  /** Whether another provider takes over while the first one can't. */
  readonly hasFallback: boolean;
  /** From when to when the first one does nothing; null: never. */
  readonly down: { readonly from: number; readonly to: number; readonly how: 'error' | 'credentials' } | null;
}

/** error, later: tried again (later: when the receiver says). refused: for good. hang: no answer. lost: taken, and the answer is lost. */
export const failures = ['error', 'later', 'refused', 'hang', 'lost'] as const;
export type Failure = (typeof failures)[number];

export interface NotificationPlan {
  readonly at: number;
  readonly tenant: number;
  readonly priority: Priority;
  /** What it takes in the log. */
  readonly bytes: number;
  readonly sendAfterMs: number | null;
  readonly cancelAfterMs: number | null;
  /** After its time, or after it was asked for: then it isn't worth an attempt any more. */
  readonly expiresAfterMs: number | null;
  /** Sent again by hand, should it have failed by then. */
  readonly retryAfterMs: number | null;
  /** Which of its tenant's batches it is of. */
  readonly batch: number | null;
  /** Which of the recipients that all tenants have. */
  readonly recipient: number;
}

/** Asked for by name: erasures are `ErasurePlan`s. */
const plannedKinds = ['cancel', 'retry'] as const satisfies readonly JobKind[];

export interface JobPlan {
  readonly at: number;
  readonly tenant: number;
  readonly kind: JobKind;
  /** null: all of the tenant's. */
  readonly batch: number | null;
  readonly ratePerSecond: number;
  readonly stopAfterMs: number | null;
}

export interface ErasurePlan {
  readonly at: number;
  readonly tenant: number;
  /** null: the whole tenant. */
  readonly recipient: number | null;
  /** Whether whoever takes it on names what there is at once, as the API does: else all is the job's. */
  readonly isAtOnce: boolean;
}

/** Someone who asks until he is answered. */
export interface KeyedPlan {
  readonly at: number;
  readonly tenant: number;
  readonly priority: Priority;
  /** Which of its tenant's keys. */
  readonly key: number;
  /** What is asked for. */
  readonly content: number;
  /** Then another process is asked. */
  readonly patienceMs: number;
}

export interface RetentionPlan {
  /** null: only a tenant's own ends. */
  readonly keptMs: number | null;
  readonly statisticsMs: number | null;
  /** Of the first tenant alone. */
  readonly ownMs: number | null;
}

export const faultKinds = [
  'kill',
  'restart',
  'start',
  'freeze',
  'cut',
  'slow',
  'appends fail',
  'store fails',
  'settings fail',
  'evict',
  'leaders move',
  'group anew',
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  readonly at: number;
  readonly kind: FaultKind;
  /** Which of the processes that are there then. */
  readonly machine: number;
  readonly forMs: number;
  readonly oneIn: number;
}

export interface Plan {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly channel: 'WEBHOOK' | 'SMS';
  readonly partitions: number;
  readonly brokers: number;
  readonly machines: number;
  /** Whether records are folded while all this happens; else at the end, from the log. */
  readonly hasProjector: boolean;
  readonly pollStretch: number;
  readonly answerMax: number;
  /** How long the settings of a tenant take to be looked up, at most. */
  readonly settingsMs: number;
  /** How long a turn of the event loop takes, at most. */
  readonly turnMs: number;
  /** How far the wall clocks of processes are ahead of the right time, at most. */
  readonly clocksMs: number;
  readonly inFlightMax: number;
  readonly inFlightHighOnly: number;
  readonly inFlightPerTenantMax: number;
  /** Of each number of a lane. */
  readonly account: AccountLimits;
  readonly retryDelaysMs: readonly number[];
  readonly tenants: readonly TenantPlan[];
  readonly notifications: readonly NotificationPlan[];
  readonly jobs: readonly JobPlan[];
  readonly erasures: readonly ErasurePlan[];
  /** null: all is kept for ever. */
  readonly retention: RetentionPlan | null;
  /** When somebody has the records folded anew, ms. */
  readonly rebuilds: readonly number[];
  readonly keyed: readonly KeyedPlan[];
  /** When whoever keeps the keys loses them all; null: never. */
  readonly keysLostAt: number | null;
  /** By how much the hour of those who take keys in differs from that of all else. */
  readonly keyedAheadMs: number;
  readonly faults: readonly Fault[];
  /** From then on nothing goes wrong any more. */
  readonly healedAt: number;
}

/** Of the largest request that there is, in the log. */
const largeBytes = 260 * 1024;
const smallBytes = 500;

export function planOf(seed: number): Plan {
  if (isCrowd(seed)) return crowdOf(seed);
  const random = createRandom(seed);
  const plan = plannedBy(seed, random);
  return crowding(rebuilding(byProviders(expiring(isStorm(seed) ? stormOf(plan, random) : plan))));
}

/** By a generator of its own: in one of five worlds in which anything may go wrong hardly anybody may have surplus in the log, and there is hardly room for what isn't. */
function crowding(plan: Plan): Plan {
  const random = createRandom(plan.seed ^ 0x3f84_d5b5);
  if (!isAnything(plan.scenario) || random.between(1, 5) > 1) return plan;
  const account = {
    eventsMax: random.of([4, 10, accountLimits.eventsMax]),
    laggardsMax: random.of([0, 0, 1, 2]),
    heldMax: random.of([1, 3, accountLimits.heldMax]),
    leavingMax: random.of([1, 4, accountLimits.leavingMax]),
    leavingBytesMax: random.of([1, accountLimits.leavingBytesMax]),
  };
  return { ...plan, account };
}

/** By a generator of its own: in one of four worlds in which anything may go wrong some aren't worth sending for long. */
function expiring(plan: Plan): Plan {
  const random = createRandom(plan.seed ^ 0x1b87_3593);
  if (!isAnything(plan.scenario) || random.between(1, 4) > 1) return plan;
  const notifications = plan.notifications.map((one) => {
    const expiresAfterMs = random.between(1, 3) === 1 ? random.between(1, 3_000) : null;
    return { ...one, expiresAfterMs };
  });
  return { ...plan, notifications };
}

/** By a generator of its own: of those in which anything may go wrong and records are folded, in one of ten they are folded anew while they serve, in one of five storms. */
function rebuilding(plan: Plan): Plan {
  const random = createRandom(plan.seed ^ 0x6a09_e667);
  const hasRecords = plan.hasProjector || plan.erasures.length > 0 || plan.retention !== null;
  if (!isAnything(plan.scenario) || !hasRecords || random.between(1, isStorm(plan.seed) ? 5 : 10) > 1) return plan;
  const rebuilds = Array.from({ length: random.of([1, 1, 2]) }, () => random.between(0, 3_000));
  return { ...plan, rebuilds };
}

/** By a generator of its own: in one of five worlds in which anything may go wrong a provider stands before all receivers, of some tenants a second one. */
function byProviders(plan: Plan): Plan {
  const random = createRandom(plan.seed ^ 0x2545_f491);
  if (!isAnything(plan.scenario) || random.between(1, 5) > 1) return plan;
  const tenants = plan.tenants.map((tenant) => {
    const from = random.between(0, 2_000);
    const down = {
      from,
      to: from + random.between(100, 4_000),
      how: random.of(['error', 'error', 'credentials'] as const),
    };
    return { ...tenant, hasFallback: random.between(1, 2) === 1, down: random.between(1, 2) === 1 ? down : null };
  });
  return { ...plan, channel: 'SMS', tenants };
}

function isAnything(scenario: Scenario): boolean {
  return ['chaos', 'moves', 'jobs', 'erasures', 'keys', 'retention'].includes(scenario);
}

function plannedBy(seed: number, random: Random): Plan {
  const percent = random.between(0, 99);
  const scenario = isStorm(seed) ? scenarioOfStorm(percent) : scenarioOf(percent, seed);
  const base = {
    seed,
    scenario,
    channel: 'WEBHOOK' as const,
    partitions: random.between(1, 3),
    brokers: random.of([1, 1, 2]),
    pollStretch: pollStretchOf(scenario, random),
    // A backlog is in memory before its turns count.
    answerMax: scenario === 'chaos' || scenario === 'moves' ? random.of([1, 3, 1000, 1000]) : 1000,
    settingsMs: settingsMsOf(scenario, random),
    turnMs: 0.05,
    account: accountLimits,
    clocksMs: clocksMsOf(scenario, seed),
    jobs: [],
    erasures: [],
    retention: null,
    rebuilds: [],
    keyed: [],
    keysLostAt: null,
    keyedAheadMs: 0,
    retryDelaysMs: scenario === 'neighbours' ? [300] : random.of([[150, 500], [300], [100, 300, 700]]),
  };
  switch (scenario) {
    case 'chaos':
      return { ...base, ...chaos(random) };
    case 'erasures':
      return { ...base, ...erasures(random) };
    case 'jobs':
      return { ...base, ...jobs(random) };
    case 'keys':
      return withinADay({ ...base, ...keys(random) });
    case 'moves':
      return { ...base, ...moves(random) };
    case 'retention':
      return { ...base, ...retention(random) };
    case 'neighbours':
      return { ...base, ...neighbours(random) };
    case 'shares':
      return { ...base, ...shares(random) };
    case 'lanes':
      return { ...base, ...lanes(random) };
    case 'rate':
      return { ...base, ...rate(random) };
    default:
      return assertNever(scenario);
  }
}

function scenarioOf(percent: number, seed: number): UsualScenario {
  if (percent < 68) return 'chaos';
  // They take five times as long as others.
  if (percent < 69) return seed % 2 === 0 ? 'retention' : 'chaos';
  if (percent < 71) return 'keys';
  if (percent < 73) return 'erasures';
  if (percent < 76) return 'jobs';
  if (percent < 88) return 'moves';
  if (percent < 92) return 'neighbours';
  if (percent < 95) return 'shares';
  return percent < 97 ? 'lanes' : 'rate';
}

/** Those in which anything may go wrong, as they were found to find something. */
function scenarioOfStorm(percent: number): UsualScenario {
  if (percent < 36) return 'chaos';
  if (percent < 42) return 'retention';
  if (percent < 50) return 'keys';
  if (percent < 65) return 'erasures';
  return percent < 80 ? 'jobs' : 'moves';
}

/** Where what is late is forgotten, nobody hears of what he is given by seconds late. */
function pollStretchOf(scenario: Scenario, random: Random): number {
  const stretch = random.of([5, 10, 20]);
  return scenario === 'retention' ? 5 : stretch;
}

/** Where a rate is kept, who asks for it is always a little late. */
function settingsMsOf(scenario: Scenario, random: Random): number {
  if (scenario === 'rate') return 40;
  return scenario === 'chaos' || scenario === 'moves' ? random.of([0, 0, 0, 500]) : 0;
}

/** By a generator of its own. Where nothing goes wrong, clocks are right as well. */
function clocksMsOf(scenario: Scenario, seed: number): number {
  const random = createRandom(seed ^ 0x3c6e_f372);
  const mayDiffer = isAnything(scenario) && scenario !== 'retention';
  return mayDiffer ? random.of([0, 0, 0, 0, 0, 300, 30_000, 3_600_000, 3_600_000]) : 0;
}

type Rest = Omit<
  Plan,
  | 'seed'
  | 'scenario'
  | 'channel'
  | 'partitions'
  | 'brokers'
  | 'settingsMs'
  | 'pollStretch'
  | 'answerMax'
  | 'retryDelaysMs'
  | 'turnMs'
  | 'account'
  | 'clocksMs'
  | 'jobs'
  | 'erasures'
  | 'retention'
  | 'rebuilds'
  | 'keyed'
  | 'keysLostAt'
  | 'keyedAheadMs'
> &
  Partial<Pick<Plan, 'turnMs' | 'jobs' | 'erasures' | 'retention' | 'keyed' | 'keysLostAt' | 'keyedAheadMs'>>;

function chaos(random: Random): Rest {
  const isHeavy = random.between(1, 5) === 1;
  const tenants = Array.from({ length: random.between(1, 4) }, (_, n) => anyTenant(random, n, isHeavy));
  const loadMs = random.of([200, 1_000, 2_000]);
  const notifications = Array.from({ length: isHeavy ? random.between(20, 40) : random.between(3, 14) }, () =>
    anyNotification(random, { tenants: tenants.length, loadMs, isHeavy }),
  );
  const faults = Array.from({ length: random.between(1, 5) }, () => anyFault(random));
  const lastAt = Math.max(...faults.map(({ at, forMs }) => at + forMs), loadMs);
  const inFlightMax = random.of(isHeavy ? [8, 64] : [2, 8, 64]);
  return {
    machines: random.of([1, 1, 2, 2, 3]),
    hasProjector: random.between(1, 3) === 1,
    inFlightMax,
    inFlightHighOnly: Math.floor(inFlightMax / 4),
    inFlightPerTenantMax: random.of(isHeavy ? [4, 32] : [1, 4, 32]),
    tenants,
    notifications: inTime(notifications),
    faults: inTime(faults),
    healedAt: lastAt + 1,
  };
}

/** A third of them without a fault: then everybody has to hear of it soon. The first tenant stays. */
function erasures(random: Random): Rest {
  const tenants = Array.from({ length: random.between(2, 3) }, (_, n) => anyTenant(random, n, false));
  const notifications = Array.from({ length: random.between(8, 24) }, () => ({
    ...anyNotification(random, { tenants: tenants.length, loadMs: 1_800, isHeavy: false }),
    recipient: random.between(0, erasedRecipients - 1),
  }));
  const asked = Array.from({ length: random.between(1, 4) }, (): ErasurePlan => {
    const isOfTenant = random.between(1, 3) === 1;
    return {
      at: random.between(200, 2_200),
      tenant: random.between(isOfTenant ? 1 : 0, tenants.length - 1),
      recipient: isOfTenant ? null : random.between(0, erasedRecipients - 1),
      isAtOnce: random.between(1, 2) === 1,
    };
  });
  const faults = random.between(1, 3) === 1 ? [] : Array.from({ length: random.between(1, 5) }, () => anyFault(random));
  const inFlightMax = random.of([2, 8, 64]);
  return {
    machines: random.between(1, 3),
    hasProjector: true,
    inFlightMax,
    inFlightHighOnly: Math.floor(inFlightMax / 4),
    inFlightPerTenantMax: random.of([1, 4, 32]),
    tenants,
    notifications: inTime(notifications),
    erasures: inTime(asked),
    faults: inTime(faults),
    healedAt: Math.max(...faults.map(({ at, forMs }) => at + forMs), 2_200) + 1,
  };
}

const erasedRecipients = 3;

/** Half of them without a fault: then counts and rates are exact. */
function jobs(random: Random): Rest {
  const tenants = Array.from({ length: random.between(1, 2) }, (_, n) => {
    const failing = { ...nothingFails, refused: random.of([30, 100]), error: random.of([0, 30]) };
    return { ...quietTenant(n), answerMs: random.of([5, 50, 400]), failing };
  });
  const notifications = Array.from({ length: random.between(8, 30) }, () => ({
    ...notification({ at: random.between(0, 800), tenant: random.between(0, tenants.length - 1), priority: 'BULK' }),
    batch: random.between(0, 1),
    sendAfterMs: random.between(1, 3) === 1 ? random.between(1_000, 5_000) : null,
    cancelAfterMs: random.between(1, 12) === 1 ? random.between(300, 3_500) : null,
    retryAfterMs: random.between(1, 6) === 1 ? random.between(500, 4_500) : null,
  }));
  const asked = Array.from({ length: random.between(1, 4) }, (): JobPlan => ({
    at: random.between(600, 3_500),
    tenant: random.between(0, tenants.length - 1),
    kind: random.of(plannedKinds),
    batch: random.of([null, 0, 1]),
    ratePerSecond: random.of([2, 5, 20, 500]),
    stopAfterMs: random.between(1, 2) === 1 ? random.between(0, 2_000) : null,
  }));
  const faults = jobFaults(random);
  return {
    machines: random.between(1, 3),
    hasProjector: true,
    inFlightMax: 16,
    inFlightHighOnly: 0,
    inFlightPerTenantMax: 8,
    tenants,
    notifications: inTime(notifications),
    jobs: inTime(asked),
    faults: inTime(faults),
    healedAt: Math.max(...faults.map(({ at, forMs }) => at + forMs), 3_500) + 1,
  };
}

/** None, or any while jobs run, or every process sleeps for longer than a lease and finds its job with another. */
function jobFaults(random: Random): Fault[] {
  const common = () => ({ at: random.between(600, 4_500), oneIn: random.of([1, 2, 4]) });
  const goesWrong = random.of(['nothing', 'nothing', 'anything', 'anything', 'sleep'] as const);
  if (goesWrong === 'nothing') return [];
  if (goesWrong === 'sleep')
    return [0, 1, 2].map((machine): Fault => ({ ...common(), kind: 'freeze', machine, forMs: 24_000 }));
  return Array.from({ length: random.between(1, 5) }, (): Fault => ({
    ...common(),
    kind: random.of(['kill', 'kill', 'restart', 'freeze', 'cut', 'slow', 'appends fail', 'store fails']),
    machine: random.between(0, 9),
    forMs: random.between(50, 1_500),
  }));
}

/** A third of them without a fault: then each is appended once. In some the keys are lost, in others it is midnight or callers of a key ask for other things. */
function keys(random: Random): Rest {
  const tenants = Array.from({ length: random.between(1, 2) }, (_, n) => anyTenant(random, n, false));
  const areLost = random.between(1, 4) === 1;
  const isMidnight = random.between(1, 3) === 1;
  const asked = Array.from({ length: random.between(2, 6) }, (_, key) => {
    const [at, tenant] = [random.between(0, 2_000), random.between(0, tenants.length - 1)];
    const of = { tenant, priority: random.of(priorities), key };
    const withinMs = random.of([5, 400, 2_500]);
    return Array.from({ length: random.between(1, 4) }, (): KeyedPlan => ({
      ...of,
      at: at + random.between(0, withinMs),
      content: areLost || random.between(1, 8) > 1 ? 0 : 1,
      patienceMs: random.of([100, 800, 3_000]),
    }));
  });
  const faults = random.between(1, 3) === 1 ? [] : Array.from({ length: random.between(1, 5) }, () => keyFault(random));
  const notifications = Array.from({ length: random.between(0, 6) }, () =>
    anyNotification(random, { tenants: tenants.length, loadMs: 1_800, isHeavy: false }),
  );
  return {
    machines: random.between(1, 3),
    hasProjector: true,
    inFlightMax: 16,
    inFlightHighOnly: 4,
    inFlightPerTenantMax: random.of([1, 8]),
    tenants,
    notifications: inTime(notifications),
    keyed: inTime(asked.flat()),
    keysLostAt: areLost ? random.between(1_500, 4_000) : null,
    keyedAheadMs: isMidnight ? 12 * 3_600_000 - random.between(500, 4_000) : 0,
    faults: inTime(faults),
    healedAt: Math.max(...faults.map(({ at, forMs }) => at + forMs), 4_000) + 1,
  };
}

/** The id of a key's notification goes by the day: at midnight clocks may differ by as much as is allowed for, and no more. */
function withinADay(plan: Plan): Plan {
  return plan.keyedAheadMs === 0 ? plan : { ...plan, clocksMs: Math.min(plan.clocksMs, clocksDifferMs) };
}

/** Some sleep for longer than whoever has taken a key is waited for. */
function keyFault(random: Random): Fault {
  if (random.between(1, 15) > 1) return anyFault(random);
  return { at: random.between(20, 2_000), kind: 'freeze', machine: random.between(0, 9), forMs: 33_000, oneIn: 1 };
}

/** While it is asked for and sent, or when it is to go. */
function retentionFault(random: Random): Fault {
  if (random.between(1, 2) === 1) return anyFault(random);
  const fault = anyFault(random);
  const kind = random.of(['evict', 'evict', 'cut', 'slow', fault.kind] as const);
  return { ...fault, kind, at: keptMs - 500 + random.between(0, 3_500) };
}

/** Longer than anybody is away, and than records are behind by that: who asks for another try may be too late, by as much. */
const keptMs = 30_000;

function retention(random: Random): Rest {
  const tenants = Array.from({ length: random.between(1, 3) }, (_, n) => anyTenant(random, n, false));
  // Some wait for longer than what has ended is kept.
  const furtherAhead = random.of([0, 0, 6]);
  const notifications = Array.from({ length: random.between(6, 20) }, () => {
    const one = anyNotification(random, { tenants: tenants.length, loadMs: 2_000, isHeavy: false });
    if (random.between(1, 10) > furtherAhead || one.sendAfterMs === null) return one;
    return { ...one, sendAfterMs: keptMs + random.between(-1_000, 4_000) };
  });
  const faults = Array.from({ length: random.between(0, 5) }, () => retentionFault(random));
  return {
    machines: random.between(1, 3),
    hasProjector: true,
    inFlightMax: 16,
    inFlightHighOnly: 4,
    inFlightPerTenantMax: random.of([1, 8]),
    tenants,
    notifications: inTime(notifications),
    retention: {
      keptMs,
      statisticsMs: random.of([null, keptMs + 4_000]),
      ownMs: random.of([null, null, keptMs - 2_000]),
    },
    faults: inTime(faults),
    healedAt: Math.max(...faults.map(({ at, forMs }) => at + forMs), 2_000) + 1,
  };
}

function moves(random: Random): Rest {
  const tenants = [0, 1, 2].map((n) => ({ ...quietTenant(n), answerMs: random.of([5, 200, 800]) }));
  const isHeavy = random.between(1, 4) === 1;
  const notifications = Array.from({ length: random.between(10, 30) }, () => ({
    ...anyNotification(random, { tenants: tenants.length, loadMs: 1_500, isHeavy }),
    cancelAfterMs: null,
  }));
  const faults = Array.from({ length: random.between(1, 5) }, () => anyMove(random));
  return {
    machines: random.between(1, 3),
    hasProjector: random.between(1, 4) === 1,
    inFlightMax: random.of([4, 64]),
    inFlightHighOnly: 1,
    inFlightPerTenantMax: random.of([2, 32]),
    tenants,
    notifications: inTime(notifications),
    faults: inTime(faults),
    healedAt: 2_001,
  };
}

const moveKinds: readonly FaultKind[] = ['restart', 'start', 'restart', 'leaders move'];

/** Nothing may be sent twice for it. */
export function isOrderly(kind: FaultKind): boolean {
  return moveKinds.includes(kind);
}

/** @param withinMs it begins within so long */
export function anyMove(random: Random, withinMs = 2_000): Fault {
  return {
    at: random.between(50, withinMs),
    kind: random.of(moveKinds),
    machine: random.between(0, 9),
    forMs: 0,
    oneIn: 1,
  };
}

/** The last tenant is quick, small and HIGH; the others hang, with bodies that fill the memory of their lanes. */
function neighbours(random: Random): Rest {
  const slow = random.between(4, 6);
  const tenants = Array.from({ length: slow + 1 }, (_, n) =>
    n < slow ? { ...quietTenant(n), failing: { ...nothingFails, hang: 100 } } : quietTenant(n),
  );
  const floods = Array.from({ length: slow * 10 }, (_, n) =>
    notification({
      at: random.between(0, 300),
      tenant: n % slow,
      priority: random.of(['BULK', 'DEFAULT']),
      bytes: largeBytes,
    }),
  );
  const quick = Array.from({ length: 12 }, () =>
    notification({ at: random.between(600, 2_500), tenant: slow, priority: 'HIGH' }),
  );
  return {
    machines: 1,
    hasProjector: false,
    inFlightMax: 16,
    inFlightHighOnly: 4,
    inFlightPerTenantMax: 4,
    tenants,
    notifications: inTime([...floods, ...quick]),
    faults: [],
    healedAt: 2_500,
  };
}

function shares(random: Random): Rest {
  // Many slots, of which several are free at the end of a turn: rare, since it takes ten times as long.
  const isLarge = random.between(1, 10) === 1;
  const count = isLarge ? 10 : random.between(3, 5);
  const each = isLarge ? 60 : 40;
  const heavier = random.between(0, 1) === 1;
  const tenants = Array.from({ length: count }, (_, n) => ({
    ...quietTenant(n),
    answerMs: isLarge ? 100 : 20,
    weight: heavier && n === 0 ? 3 : 1,
  }));
  return {
    ...backlogOf(tenants, count * each, ['BULK']),
    ...(isLarge ? { inFlightMax: 48, turnMs: 10 } : {}),
  };
}

function lanes(random: Random): Rest {
  const tenants = Array.from({ length: random.between(1, 3) }, (_, n) => ({ ...quietTenant(n), answerMs: 20 }));
  return backlogOf(tenants, 70, priorities);
}

function rate(random: Random): Rest {
  const tenants = [{ ...quietTenant(0), maxPerSecond: random.between(4, 8) }, quietTenant(1)];
  const own = Array.from({ length: 60 }, () => notification({ at: 0, tenant: 0, priority: 'DEFAULT' }));
  const others = Array.from({ length: 8 }, () =>
    notification({ at: random.between(1_500, 3_500), tenant: 1, priority: 'DEFAULT' }),
  );
  const notifications = inTime([...own, ...others]);
  return { ...backlogOf(tenants, 0, []), machines: random.between(1, 2), inFlightMax: 3, notifications };
}

/** Nothing goes wrong, and nobody waits for a slot because there are so few. */
function backlogOf(tenants: readonly TenantPlan[], each: number, of: readonly Priority[]): Rest {
  return {
    machines: 1,
    hasProjector: false,
    inFlightMax: 8,
    inFlightHighOnly: 0,
    inFlightPerTenantMax: 32,
    tenants,
    notifications: of.flatMap((priority) =>
      Array.from({ length: each }, (_, n) => notification({ at: 0, tenant: n % tenants.length, priority })),
    ),
    faults: [],
    healedAt: 1_000,
  };
}

export const nothingFails: TenantPlan['failing'] = { error: 0, later: 0, refused: 0, hang: 0, lost: 0 };

const oneProvider = { hasFallback: false, down: null };

export function quietTenant(n: number): TenantPlan {
  return {
    id: `tnt_${n}` as TenantId,
    answerMs: 5,
    failing: nothingFails,
    maxPerSecond: null,
    weight: 1,
    ...oneProvider,
  };
}

function anyTenant(random: Random, n: number, isHeavy: boolean): TenantPlan {
  const share = () => random.of([0, 0, 0, 10, 30]);
  return {
    id: `tnt_${n}` as TenantId,
    answerMs: random.of(isHeavy ? [3, 50] : [3, 50, 400, 1_200]),
    failing: {
      error: share(),
      later: share(),
      refused: random.of([0, 0, 10]),
      hang: share(),
      lost: random.of([0, 0, 10]),
    },
    maxPerSecond: random.of([null, null, null, 2, 10]),
    weight: random.of([1, 1, 3]),
    ...oneProvider,
  };
}

function anyNotification(
  random: Random,
  { tenants, loadMs, isHeavy }: { tenants: number; loadMs: number; isHeavy: boolean },
): NotificationPlan {
  const isScheduled = random.between(1, 6) === 1;
  return {
    at: random.between(0, loadMs),
    tenant: random.between(0, tenants - 1),
    priority: isHeavy ? 'BULK' : random.of(priorities),
    bytes: isHeavy && random.between(1, 3) > 1 ? random.between(largeBytes / 4, largeBytes) : smallBytes,
    sendAfterMs: isScheduled ? random.between(-500, 1_500) : null,
    expiresAfterMs: null,
    cancelAfterMs: random.between(1, isScheduled ? 2 : 6) === 1 ? random.between(1, 1_500) : null,
    retryAfterMs: random.between(1, 4) === 1 ? random.between(300, 2_500) : null,
    batch: null,
    recipient: 0,
  };
}

export function notification(
  of: Pick<NotificationPlan, 'at' | 'tenant' | 'priority'> & { bytes?: number },
): NotificationPlan {
  const never = { sendAfterMs: null, expiresAfterMs: null, cancelAfterMs: null, retryAfterMs: null, batch: null };
  return { bytes: smallBytes, recipient: 0, ...never, ...of };
}

/** Rare are those that take 10 s until they are noticed. */
const kindsByWeight: readonly FaultKind[] = [
  ...(['kill', 'kill', 'kill', 'restart', 'restart', 'start', 'freeze', 'cut', 'cut', 'slow', 'slow'] as const),
  ...([
    'appends fail',
    'appends fail',
    'store fails',
    'store fails',
    'settings fail',
    'evict',
    'evict',
    'leaders move',
  ] as const),
  'group anew',
];

/** @param withinMs it begins within so long */
export function anyFault(random: Random, withinMs = 2_000): Fault {
  const kind = random.of(kindsByWeight);
  const isLongFreeze = kind === 'freeze' && random.between(1, 3) === 1;
  return {
    at: random.between(20, withinMs),
    kind,
    machine: random.between(0, 9),
    forMs: isLongFreeze ? random.between(10_000, 16_000) : random.between(50, 1_500),
    oneIn: random.of([1, 2, 4]),
  };
}

export function inTime<T extends { readonly at: number }>(things: T[]): T[] {
  return things.sort((a, b) => a.at - b.at);
}
