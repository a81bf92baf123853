// One seed from its beginning to its verdict: processes run, clients ask, things go wrong, are mended, and then everything has to come to its end.

import { cancelNotification } from '../../src/commands/cancel-notification.ts';
import { retryNotification } from '../../src/commands/retry-notification.ts';
import { followErasures } from '../../src/adapters/kafka/erasures.ts';
import { createErasures, erasedFacts } from '../../src/domain/erasure.ts';
import type { DomainEvent, NotificationRequested } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { eventIdFrom, notificationIdOf } from '../../src/domain/ids.ts';
import type { Partitioning } from '../../src/domain/topics.ts';
import { allTopics, partitionOf, workTopics } from '../../src/domain/topics.ts';
import { keyOf } from '../../src/adapters/kafka/fetch-session.ts';
import type { Random } from '../chaos/random.ts';
import { createRandom } from '../chaos/random.ts';
import type { Brokers } from './brokers.ts';
import { createBrokers } from './brokers.ts';
import { createErasingClient, recipientOf, secretOf } from './erasures.ts';
import type { SharedJobs } from './jobs.ts';
import { batchIdOf, createJobsClient, createSharedJobs } from './jobs.ts';
import type { SharedKeys } from './keys.ts';
import { callWithKey, createSharedKeys, loseKeys } from './keys.ts';
import type { LogFaults } from './log.ts';
import { createSimulatedLog } from './log.ts';
import { createMachine } from './machine.ts';
import { applyFault } from './misfortunes.ts';
import type { Node } from './node.ts';
import { createStores, groupOf, rebuiltReadModel, startNode } from './node.ts';
import type { NotificationPlan, Plan, TenantPlan } from './plan.ts';
import { planOf } from './plan.ts';
import type { SettingsFaults } from './receivers.ts';
import { createSharedLimits } from './receivers.ts';
import type { StoredReadModels, StoreFaults } from './store.ts';
import type { Trace } from './trace.ts';
import { createTrace } from './trace.ts';
import { unfinishedIn, verdictOn } from './verdict.ts';
import type { VirtualTime } from './virtual-time.ts';
import { createVirtualTime, turnsBy } from './virtual-time.ts';
import type { Witness } from './witness.ts';
import { createWitness } from './witness.ts';

export interface World {
  readonly plan: Plan;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  readonly brokers: Brokers;
  readonly partitioning: Partitioning;
  readonly tenants: ReadonlyMap<TenantId, TenantPlan>;
  readonly faults: LogFaults & StoreFaults & SettingsFaults;
  readonly witness: Witness;
  readonly stored: StoredReadModels;
  /** null: nobody asks for one. */
  readonly jobs: SharedJobs | null;
  /** null: nobody has one. */
  readonly keys: SharedKeys | null;
  readonly takeRate: ReturnType<typeof createSharedLimits>;
  readonly nodes: Node[];
  sizeOf(event: DomainEvent): number;
  /** A further process. */
  start(): Node;
}

export interface Ran {
  readonly seed: number;
  readonly scenario: Plan['scenario'];
  /** Empty: all that must hold did. */
  readonly problems: readonly string[];
  /** Equal for equal runs. */
  readonly digest: number;
  readonly steps: number;
  readonly virtualMs: number;
  readonly events: number;
}

/** Longer than anything that was late may need: a session's end and a rebalance with it (20 s), a hung step of a group (20 s), back-offs (5 s). */
const patienceMs = 60_000;
/** A key that a process had taken whose clock was ahead is another's after a lease and as much as clocks may differ; what has ended is kept for a while. */
const furtherPatienceMs = 90_000;
/** A receiver that was down for 20 s is called again after as long at most, and what waits behind its probe comes later by a quarter. */
const crowdPatienceMs = 240_000;
/** Until what is said to be over is over, and where appends failed until what wasn't known to be in the log has come to be in it. */
const [settlingMs, lateAppendsMs] = [300, 1_300];
const lookEveryMs = 50;
/** Sixty times what most worlds take: one that goes on in circles. Seven processes that wait for retention take 65,000. */
const stepsMax = 120_000;

/** @param print each line of what happens */
export async function runSeed(seed: number, print: ((line: string) => void) | null = null): Promise<Ran> {
  const world = createWorld(planOf(seed), print);
  const { plan, time, random, witness, brokers } = world;
  const giveBack = turnsBy(time, () => random.next() * plan.turnMs);
  const noteError = (err: unknown) =>
    void witness.problems.push(`nobody caught: ${err instanceof Error ? err.stack : String(err)}`);
  process.on('unhandledRejection', noteError);
  try {
    begin(world);
    const hasLateAppends = plan.faults.some(({ kind }) => kind === 'appends fail');
    const lookFrom = Math.max(plan.healedAt, lastWishAt(plan)) + (hasLateAppends ? lateAppendsMs : settlingMs);
    let nextLook = lookFrom;
    let left: readonly string[] = [];
    const isOver = () => {
      if (time.steps > stepsMax) witness.problems.push(`it goes on in circles: ${stepsMax} steps`);
      if (witness.problems.length > 0) return true;
      if (time.now < nextLook) return false;
      nextLook = time.now + lookEveryMs;
      left = unfinishedIn(world);
      return left.length === 0;
    };
    const isLonger = world.keys !== null || plan.retention !== null;
    const patience = plan.scenario === 'crowd' ? crowdPatienceMs : patienceMs + (isLonger ? furtherPatienceMs : 0);
    await time.run(isOver, lookFrom + patience);
    const problems = [...witness.problems];
    if (problems.length === 0) problems.push(...left.map((what) => `after ${patience} ms of peace: ${what}`));
    if (problems.length === 0) problems.push(...(await verdictOn(world)));
    const { digest, steps, now: virtualMs } = time;
    return { seed, scenario: plan.scenario, problems, digest, steps, virtualMs, events: brokers.all.length };
  } finally {
    for (const { machine } of world.nodes) machine.kill();
    await world.jobs?.store.close();
    await world.keys?.store.close();
    giveBack();
    // What is still under way has nobody left to ask.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', noteError);
  }
}

function createWorld(plan: Plan, print: ((line: string) => void) | null): World {
  const time = createVirtualTime();
  const random = createRandom(plan.seed ^ 0x5bd1e995);
  const trace = createTrace(time, print);
  const tenants = new Map(plan.tenants.map((tenant) => [tenant.id, tenant]));
  const witness = createWitness({ plan, tenants, time, trace });
  const { partitions, brokers: count, pollStretch, answerMax } = plan;
  const sizes = new Map<string, number>();
  const nodes: Node[] = [];
  let started = 0;
  const world: World = {
    plan,
    time,
    random,
    trace,
    brokers: createBrokers({
      time,
      partitions,
      count,
      pollStretch,
      answerMax,
      onAppend: witness.appended,
      onCommit(group, commits) {
        if (group !== groupOf(plan)) return;
        for (const commit of commits) witness.committed(commit, world.brokers.entries(commit.topic, commit.partition));
      },
    }),
    partitioning: { partitions, shards: 2 },
    tenants,
    faults: { appendsFailUntil: 0, failsUntil: 0, failUntil: 0, failOneIn: 1 },
    witness,
    stored: {
      collections: new Map(),
      positions: new Map(),
      versions: new Map(),
      listeners: new Map(),
      onWrite: plan.erasures.length === 0 ? null : witness.erasures.written,
    },
    jobs: plan.jobs.length + plan.erasures.length === 0 ? null : createSharedJobs(),
    keys: plan.keyed.length === 0 ? null : createSharedKeys(),
    takeRate: createSharedLimits(time),
    nodes,
    // Where a request goes along its size goes along.
    sizeOf: (event) =>
      'notificationId' in event && 'request' in event && event.request !== null
        ? noted(sizes, event.notificationId, event.request.metadata['bytes'])
        : outcomeBytes,
    start() {
      const node = startNode(world, `p${++started}`);
      nodes.push(node);
      return node;
    },
  };
  return world;
}

const outcomeBytes = 300;

function noted(sizes: Map<string, number>, id: string, text: string | undefined): number {
  const bytes = text === undefined ? (sizes.get(id) ?? outcomeBytes) : Number(text);
  sizes.set(id, bytes);
  return bytes;
}

/** Plans everything that comes from outside. */
function begin(world: World): void {
  const { plan, time, brokers, trace } = world;
  trace('seed', String(plan.seed), JSON.stringify(plan));
  const { committed } = brokers.group(groupOf(plan));
  for (const topic of workTopics)
    for (let partition = 0; partition < plan.partitions; partition++)
      committed.set(keyOf({ topic, partition }), { offset: 0, metadata: '' });
  const { client, askForJob, askForErasure } = createClients(world);
  for (const wish of plan.notifications) time.after(wish.at, () => void client(wish));
  for (const wish of plan.jobs) time.after(wish.at, () => void askForJob?.(wish));
  // A refusal is an answer, too: it may have been taken on all the same.
  for (const wish of plan.erasures) time.after(wish.at, () => void askForErasure?.(wish).catch(() => undefined));
  if (plan.rebuilds.length > 0) askForRebuilds(world);
  const { keys } = world;
  if (keys !== null) for (const wish of plan.keyed) time.after(wish.at, () => void callWithKey(world, keys, wish));
  if (keys !== null && plan.keysLostAt !== null) time.after(plan.keysLostAt, () => loseKeys(world, keys));
  // A backlog is there before anybody works on it.
  const startAt = plan.scenario === 'shares' || plan.scenario === 'lanes' ? 50 : 0;
  for (let n = 0; n < plan.machines; n++) time.after(startAt + n * 5, () => void world.start());
  for (const fault of plan.faults) time.after(fault.at, () => applyFault(world, fault));
  time.after(plan.healedAt, () => {
    if (!world.nodes.some(({ machine }) => machine.isAlive)) world.start();
  });
}

/** As `herald rebuild` does, which asks again when the store is away. */
function askForRebuilds(world: World): void {
  const { plan, time, random, trace } = world;
  const machine = createMachine({ name: 'cli', time, random, trace });
  const { versions } = createStores(world, machine);
  const ask = async (): Promise<void> => {
    trace('cli', 'begins a rebuild');
    await versions.beginRebuild(rebuiltReadModel.definition).catch(() => machine.clock.sleep(500).then(ask));
  };
  for (const at of plan.rebuilds) time.after(at, () => void ask());
}

/** Asks for what the plan wants, as the API does for its callers. */
function createClients(world: World) {
  const { plan, time, random, trace, brokers, partitioning, faults, witness, sizeOf } = world;
  const machine = createMachine({ name: 'api', time, random, trace });
  const { clock } = machine;
  const logger = witness.loggerOf('api');
  const erasures = plan.erasures.length === 0 ? null : createErasures();
  const log = createSimulatedLog({
    machine,
    brokers,
    partitioning,
    time,
    random,
    trace,
    logger,
    faults,
    erasures,
    sizeOf,
    onOwned: () => {},
    onHeard: () => {},
  });
  const cancel = cancelNotification({ log, clock });
  const retry = retryNotification({ log, clock });

  const { jobs } = world;
  if (erasures !== null) void followErasures(log, allTopics, { clock, logger });
  return {
    client,
    askForJob: jobs === null ? null : createJobsClient(world, { machine, shared: jobs }),
    askForErasure: jobs === null ? null : createErasingClient(world, { machine, log, shared: jobs }),
  };

  async function client(wish: NotificationPlan): Promise<void> {
    const event = requestedBy(wish);
    await log.append(event);
    const later = (ms: number | null, command: (facts: Parameters<typeof cancel>[0]) => Promise<unknown>) => {
      if (ms === null) return;
      time.after(ms, () => {
        const facts = witness.facts(event.notificationId);
        // A refusal is an answer, too.
        if (facts === undefined) return;
        command(erasures?.has(facts.id) === true ? erasedFacts(facts) : facts).catch(() => {});
      });
    };
    later(wish.cancelAfterMs, cancel);
    later(wish.retryAfterMs, retry);
  }

  function requestedBy({
    tenant,
    priority,
    bytes,
    sendAfterMs,
    expiresAfterMs,
    batch,
    recipient: number,
  }: NotificationPlan): NotificationRequested {
    const notificationId = notificationIdOf(clock.uuidV7());
    const { channel } = plan;
    const { id: tenantId } = plan.tenants[tenant] ?? { id: 'tnt_0' as TenantId };
    const recipient = recipientOf(number);
    const now = clock.now();
    return {
      type: 'NotificationRequested',
      eventId: eventIdFrom('requested', notificationId),
      occurredAt: now,
      tenantId,
      traceparent: null,
      notificationId,
      requestedAt: now,
      channel,
      priority,
      recipient,
      round: 1,
      partition: partitionOf({ tenantId, channel, recipient, notificationId }, partitioning),
      request: {
        subject: null,
        body: `hello ${secretOf(notificationId)}`,
        bodyFormat: 'text',
        rawSubject: null,
        rawBody: null,
        data: '{}',
        metadata: { bytes: String(bytes) },
        template: null,
        sendAt: sendAfterMs === null ? null : now + sendAfterMs,
        ...(expiresAfterMs === null ? {} : { expiresAt: now + Math.max(0, sendAfterMs ?? 0) + expiresAfterMs }),
        batchId: batchIdOf(tenantId, batch),
        tracestate: null,
        baggage: null,
      },
    };
  }
}

function lastWishAt({ notifications, jobs, erasures, keyed, rebuilds }: Plan): number {
  const jobsAt = jobs.map(({ at, stopAfterMs }) => at + (stopAfterMs ?? 0));
  const lastJobAt = Math.max(0, ...jobsAt, ...rebuilds, ...[...erasures, ...keyed].map(({ at }) => at));
  return notifications.reduce(
    (last, { at, cancelAfterMs, retryAfterMs }) => Math.max(last, at + Math.max(cancelAfterMs ?? 0, retryAfterMs ?? 0)),
    lastJobAt,
  );
}
