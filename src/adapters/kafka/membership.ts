// Membership in a consumer group: joins, is told its numbers, says every half second that it lives, joins again when others come and go.
// By kafkajs' requests, but not by its consumer: that one doesn't say which generation it has joined, and gives its membership up when the broker that
// coordinates the group dies. Here a member goes on at the next coordinator, with its numbers, as Kafka means it.
//
//   ┌──> find the coordinator ──> join ──> (leader: share out) ──> sync ──> heartbeats ─┐
//   └── the group rebalances, a number was released, or the coordinator is gone ────────┘

import type { GroupMember } from 'kafkajs/src/cluster/index.js';

import type { Clock } from '../../ports/clock.ts';
import { StaleOwnerError } from '../../ports/event-log.ts';
import type { Logger } from '../../ports/logger.ts';
import { assign, assignerName, encodeMember, numbersOf } from './assigner.ts';
import { backOffMs } from './back-off.ts';
import { withDeadline } from './deadline.ts';
import { answeredError } from './kafka-errors.ts';
import type { LogCluster } from './log-cluster.ts';

/** By which a coordinator knows a member; commits carry it, and the coordinator refuses those of an older generation. */
export interface Identity {
  readonly memberId: string;
  readonly generation: number;
}

export interface MembershipDependencies {
  /** Of this membership alone: a join keeps its connection busy for seconds. */
  readonly cluster: LogCluster;
  /** As the brokers call them. */
  readonly group: string;
  readonly topics: readonly string[];
  readonly partitions: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The numbers that this member has still: nobody else is given them while it says so. */
  held(): readonly number[];
  /** The numbers of this member from now on. Called in the turn in which the answer came. Must not throw. */
  assigned(numbers: readonly number[], identity: Identity): void;
  /** The group goes on without this member: all its numbers are others'. Must not throw. */
  evicted(): void;
}

export interface Membership {
  /** null until the first numbers are known, and after an eviction. */
  identity(): Identity | null;
  /** Whether the coordinator has answered to something that was asked within the session timeout; false: it is asked at once. */
  isCurrent(): boolean;
  /** Resolves once the coordinator, asked now, says that the group is in our generation. @throws StaleOwnerError when it isn't, or not for long; Error when it can't say */
  confirm(): Promise<void>;
  /** A commit was refused: asks the coordinator at once how things stand. */
  check(): void;
  /** A number isn't held any more: joins again, so that it goes to another. */
  joinAgain(): void;
  /** Leaves the group. */
  stop(): Promise<void>;
}

/** How long the coordinator waits for a sign of life, and for members to come back when it shares out anew. */
const sessionTimeoutMs = 10_000;
const rebalanceTimeoutMs = 10_000;
const heartbeatEveryMs = 500;
/** Without an answer for so long the group surely goes on without us; every connection is made anew. A coordinator that was merely away for less finds us as we were. */
const silentMaxMs = 30_000;
/** A step that takes longer has hung: kafkajs gives a join 15 s by itself. */
const stepMaxMs = 20_000;
const leaveMaxMs = 1_000;

export function createMembership(deps: MembershipDependencies): Membership {
  const { cluster, group, topics, partitions, clock, logger } = deps;
  const stopping = new AbortController();
  /** Ends the rest between two heartbeats. */
  let resting = new AbortController();
  let memberId = '';
  let coordinator: number | null = null;
  let phase: 'joining' | 'member' = 'joining';
  /** What the coordinator has agreed with last. */
  let identity: Identity | null = null;
  let mustJoinAgain = false;
  let answeredAt = clock.monotonic();
  /** When that was asked which was answered last: since then the coordinator counts. By both clocks: one of them may stand still while a machine is paused. */
  let countsSince = { monotonic: clock.monotonic(), now: clock.now() };

  const ask: LogCluster['ask'] = async (nodeId, request) => {
    const askedAt = { monotonic: clock.monotonic(), now: clock.now() };
    const answer = await withDeadline(clock, stepMaxMs, `group ${group}`, cluster.ask(nodeId, request));
    answeredAt = clock.monotonic();
    countsSince = askedAt;
    return answer;
  };

  const findCoordinator = async (): Promise<number> => {
    coordinator ??= await withDeadline(clock, stepMaxMs, `group ${group}`, cluster.coordinatorOf(group));
    return coordinator;
  };

  const join = async (): Promise<void> => {
    const node = await findCoordinator();
    mustJoinAgain = false;
    const metadata = encodeMember({ topics, owned: deps.held(), generation: identity?.generation ?? -1 });
    const joined = await ask(node, (broker) =>
      broker.joinGroup({
        groupId: group,
        sessionTimeout: sessionTimeoutMs,
        rebalanceTimeout: rebalanceTimeoutMs,
        memberId,
        groupProtocols: [{ name: assignerName, metadata }],
      }),
    );
    ({ memberId } = joined);
    if (stopping.signal.aborted) return;
    const { generationId } = joined;
    const groupAssignment = joined.leaderId === memberId ? await share(joined.members) : [];
    const of = { groupId: group, generationId, memberId, groupAssignment };
    const { memberAssignment } = await ask(node, (broker) => broker.syncGroup(of));
    const numbers = numbersOf(memberAssignment, topics);
    if (stopping.signal.aborted) return;
    identity = { memberId, generation: generationId };
    phase = mustJoinAgain ? 'joining' : 'member';
    deps.assigned(numbers, identity);
  };

  const share = async (members: readonly GroupMember[]) => {
    await cluster.connect();
    // What it knows may be of a moment when a topic had an error, and lacks that one: nobody else asks again.
    if (topics.some((topic) => cluster.partitionsOf(topic) !== partitions)) await cluster.refresh();
    return assign(members, partitions, cluster.partitionsOf);
  };

  const heartbeat = async (generation: number): Promise<void> => {
    await clock.sleep(heartbeatEveryMs, resting.signal);
    if (stopping.signal.aborted) return;
    resting = new AbortController();
    const node = await findCoordinator();
    await ask(node, (broker) => broker.heartbeat({ groupId: group, groupGenerationId: generation, memberId }));
  };

  /** Never rejects. */
  const run = async (): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted;) {
      try {
        if (phase === 'joining' || identity === null) await join();
        else await heartbeat(identity.generation);
        failures = 0;
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (noteFailure(error) === 'expected') continue;
        if (failures++ === 0) logger.warn('a consumer group can not be reached; trying again', { group, err: error });
        // Only a stop ends it: those who want to know at once ask again and again, and each would have a coordinator tried that has just failed.
        await clock.sleep(backOffMs(failures), stopping.signal);
      }
    }
  };

  /** What a failure says of the membership. */
  const noteFailure = (error: unknown): 'expected' | 'unexpected' => {
    if (clock.monotonic() - answeredAt > silentMaxMs) {
      logger.error('a consumer group has been silent for too long; connecting anew', { group, silentMaxMs });
      answeredAt = clock.monotonic();
      coordinator = null;
      cluster.reset();
      evict();
      return 'unexpected';
    }
    switch (answeredError(error)) {
      case 'REBALANCE_IN_PROGRESS':
        phase = 'joining';
        return 'expected';
      case 'ILLEGAL_GENERATION':
        evict();
        return 'expected';
      case 'UNKNOWN_MEMBER_ID':
        logger.warn('a consumer group went on without this member, which joins again', { group });
        memberId = '';
        evict();
        return 'expected';
      case null:
      case 'NOT_COORDINATOR_FOR_GROUP':
      case 'GROUP_COORDINATOR_NOT_AVAILABLE':
      case 'GROUP_LOAD_IN_PROGRESS':
        // The coordinator is away, or another one by now, which knows the same members: the phase stays what it is.
        coordinator = null;
        return 'unexpected';
      default:
        phase = 'joining';
        return 'unexpected';
    }
  };

  const evict = () => {
    phase = 'joining';
    identity = null;
    deps.evicted();
  };

  const leave = async (): Promise<void> => {
    try {
      const node = coordinator;
      if (memberId !== '' && node !== null) {
        await ask(node, (broker) => broker.leaveGroup({ groupId: group, memberId }));
      }
    } catch (error) {
      logger.info('a consumer group was left without a word; it goes on after its session timeout', {
        group,
        err: error,
      });
    } finally {
      cluster.close();
    }
  };

  const running = run();

  return {
    identity: () => identity,
    isCurrent() {
      const silentMs = Math.max(clock.monotonic() - countsSince.monotonic, clock.now() - countsSince.now);
      if (silentMs > sessionTimeoutMs) resting.abort();
      return silentMs <= sessionTimeoutMs;
    },
    async confirm() {
      const node = await findCoordinator();
      if (identity === null) throw new Error(`group ${group} is being joined`);
      const { generation, memberId: asMember } = identity;
      try {
        const of = { groupId: group, groupGenerationId: generation, memberId: asMember };
        await ask(node, (broker) => broker.heartbeat(of));
      } catch (error) {
        resting.abort();
        if (!isOfAnotherGeneration(error)) throw error;
        throw new StaleOwnerError(`group ${group} goes on without generation ${generation}`);
      }
    },
    check: () => resting.abort(),
    joinAgain() {
      mustJoinAgain = true;
      phase = 'joining';
      resting.abort();
    },
    async stop() {
      stopping.abort();
      identity = null;
      resting.abort();
      // A join that is under way answers when the whole group has come together: it is left after that, without anyone waiting for it.
      const left = new AbortController();
      const leaving = running.then(leave).finally(() => left.abort());
      await Promise.race([leaving, clock.sleep(leaveMaxMs, left.signal)]);
    },
  };
}

function isOfAnotherGeneration(error: unknown): boolean {
  const answered = answeredError(error);
  return answered === 'ILLEGAL_GENERATION' || answered === 'UNKNOWN_MEMBER_ID' || answered === 'REBALANCE_IN_PROGRESS';
}
