// Fetches for any number of sources, one loop and one session for each leader. A long poll waits at the broker, so an event is here within a
// millisecond or two of its append; what a source doesn't want now (its queue is full) is left out of the request. While a request is out sources
// come and go: its answer is for those that were in it, at the offsets they had, and for nobody else.
//
//        ┌──────────── pace ◄──────────────┐          failed: refresh the metadata, back off 100 ms to 2 s, a new session
//        ▼                                 │
//   who wants? ──> fetch (waits there) ──> deliver          nobody wants: sleep until somebody does, or has rested

import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import { backOffMs } from './back-off.ts';
import { createFetchSession, type FetchSession, keyOf } from './fetch-session.ts';
import { type Asked, createFetchSources, type FetchSource, hasOtherSource } from './fetch-sources.ts';
import { createFetchWaits } from './fetch-waits.ts';
import type { FetchAnswer, FetchedPartition } from './fetch-wire.ts';
import { describeFetchError, isStaleMetadata } from './kafka-errors.ts';
import type { LogCluster } from './log-cluster.ts';
import { createPartitionRests } from './partition-rests.ts';

export interface Fetcher {
  /** A source of a partition that has one already takes its place: the old one fails. */
  add(sources: readonly FetchSource[]): void;
  remove(sources: readonly FetchSource[]): void;
  /** Some source wants again. */
  wake(): void;
  close(): void;
}

export interface FetcherDependencies {
  /** Of this fetcher alone. */
  readonly cluster: LogCluster;
  readonly clock: Clock;
  readonly logger: Logger;
  /** While little comes, at most one fetch in so many ms. */
  readonly gatherMs: number;
  /** How long the broker keeps a request while nothing has come for a while. So long a source may wait that is added then. */
  readonly idleWaitMs: number;
  /** Of one partition in an answer. A larger batch comes whole. */
  readonly partitionBytesMax: number;
}

/** Of one answer: what a process may hold beside the bounded queues of its readers. */
const answerBytesMax = 4 * 1024 * 1024;
/** From so much on an answer isn't little, and the next fetch doesn't wait. */
const muchBytes = 64 * 1024;
/** Without an answer for so long every connection is made anew. */
const stalledMs = 30_000;
const watchEveryMs = 1_000;

interface Loop {
  readonly leader: number;
  readonly session: FetchSession;
  /** By the last request. */
  asked: Asked;
  failures: number;
  /** When something came last, monotonic. */
  busyAt: number;
  /** Since when a request is out, monotonic; null: none is. One that was refused is over: whoever refuses it has no part in what others answer. */
  askedAt: number | null;
  /** Ends the wait for an answer, or for a source that wants. */
  giveUp: ((error: Error) => void) | null;
  wake: (() => void) | null;
}

export function createFetcher(deps: FetcherDependencies): Fetcher {
  const { cluster, clock, logger, gatherMs, idleWaitMs, partitionBytesMax } = deps;
  const loops = new Map<number, Loop>();
  const rests = createPartitionRests<FetchedPartition>(clock);
  const sources = createFetchSources(cluster, rests);
  const closing = new AbortController();
  const waits = createFetchWaits(clock, idleWaitMs);
  let isFindingLeaders = false;

  const wake = () => {
    for (const loop of loops.values()) loop.wake?.();
  };

  /** Sees to it that each leader of a source has its loop. Never rejects. */
  const findLeaders = async (): Promise<void> => {
    if (isFindingLeaders) return;
    isFindingLeaders = true;
    for (let failures = 0; !closing.signal.aborted; failures++) {
      try {
        await (failures === 0 ? cluster.connect() : cluster.refresh());
        if (startLoops()) break;
      } catch (error) {
        if (failures === 0) logger.warn('the leaders of the log are not known; trying again', { err: error });
      }
      await clock.sleep(backOffMs(failures + 1), closing.signal);
    }
    isFindingLeaders = false;
  };

  /** False when a source has no leader. Clears the mark in the same turn, so that no source added later is overlooked. */
  const startLoops = (): boolean => {
    const leaders = sources.leaders();
    for (const leader of leaders) if (leader !== null) startLoop(leader);
    isFindingLeaders = leaders.includes(null);
    return !isFindingLeaders;
  };

  const startLoop = (leader: number) => {
    if (loops.has(leader) || closing.signal.aborted) return;
    const loop: Loop = {
      leader,
      session: createFetchSession(),
      asked: new Map(),
      failures: 0,
      busyAt: clock.monotonic(),
      askedAt: null,
      giveUp: null,
      wake: null,
    };
    loops.set(leader, loop);
    void run(loop);
  };

  /** Until its node leads nothing any more. Never rejects. */
  const run = async (loop: Loop): Promise<void> => {
    while (!closing.signal.aborted) {
      try {
        const { led, wanted, restMs } = sources.of(loop.leader);
        if (led === 0) break;
        if (wanted.size === 0) {
          await untilWoken(loop, restMs);
          continue;
        }
        const startedAt = clock.monotonic();
        const answer = await fetchOnce(loop, wanted, led);
        if (answer === null) continue;
        const bytes = deliver(answer, loop.asked);
        if (bytes > 0) loop.busyAt = clock.monotonic();
        const rest = startedAt + gatherMs - clock.monotonic();
        if (bytes > 0 && bytes < muchBytes && rest > 0) await clock.sleep(rest, closing.signal);
      } catch (error) {
        await recover(loop, error);
      }
    }
    loops.delete(loop.leader);
    if (!closing.signal.aborted && !sources.isEmpty()) void findLeaders();
  };

  /** null: the session was lost. @throws what the connection says, or that it stalled */
  const fetchOnce = async (loop: Loop, asked: Asked, led: number): Promise<FetchAnswer | null> => {
    // In a session a broker tells each partition's end once; whoever is new to a partition is to be told it as well.
    if (hasOtherSource(loop.asked, asked)) loop.session.reset();
    loop.asked = asked;
    const request = {
      waitMaxMs: waits.waitOf(loop.busyAt, asked.size < led),
      bytesMin: 1,
      bytesMax: answerBytesMax,
      partitionBytesMax,
      ...loop.session.request(asked),
    };
    loop.askedAt = clock.monotonic();
    const answer = await new Promise<FetchAnswer>((resolve, reject) => {
      loop.giveUp = reject;
      cluster.fetch(loop.leader, request).then(resolve, reject);
    }).finally(() => (loop.giveUp = loop.askedAt = null));
    if (loop.failures > 0) logger.info('the log can be read again', { leader: loop.leader });
    loop.failures = 0;
    if (!loop.session.noteAnswer(answer)) return null;
    if (answer.errorCode !== 0) throw describeFetchError(answer.errorCode);
    return answer;
  };

  const deliver = (answer: FetchAnswer, asked: Asked): number => {
    let bytes = 0;
    const stale: FetchedPartition[] = [];
    for (const fetched of answer.partitions) {
      bytes += fetched.bytes.length;
      const source = sources.stillAsking(asked, keyOf(fetched));
      if (source === null) continue;
      if (fetched.errorCode === 0) source.deliver(fetched);
      else if (isStaleMetadata(fetched.errorCode)) stale.push(fetched);
      else source.fail(describeFetchError(fetched.errorCode, fetched));
    }
    if (stale.length > 0) void rest(stale);
    return bytes;
  };

  const rest = async (stale: readonly FetchedPartition[]): Promise<void> => {
    const news = rests.begin(stale);
    const [first] = news;
    if (first !== undefined) {
      const err = describeFetchError(first.errorCode, first);
      logger.info('partitions are to be read elsewhere, or later', { partitions: news.length, err });
    }
    await learnLeaders();
    // Their leaders' loops, which see for how long they rest.
    wake();
  };

  const untilWoken = async (loop: Loop, restMs: number): Promise<void> => {
    const over = new AbortController();
    await new Promise<void>((resolve) => {
      loop.wake = resolve;
      if (restMs < Infinity) void clock.sleep(restMs, over.signal).then(resolve);
    });
    loop.wake = null;
    over.abort();
  };

  const learnLeaders = async (): Promise<void> => {
    try {
      await cluster.refresh();
      void findLeaders();
    } catch {
      // The next fetch says what is wrong.
    }
  };

  const recover = async (loop: Loop, error: unknown): Promise<void> => {
    loop.session.reset();
    if (closing.signal.aborted) return;
    if (loop.failures++ === 0) {
      logger.warn('the log can not be read; trying again', { leader: loop.leader, err: error });
    }
    await clock.sleep(backOffMs(loop.failures), closing.signal);
    if (!closing.signal.aborted) await learnLeaders();
  };

  /** A loop that waits for an answer that never comes, whatever the reason, begins with new connections. */
  const watch = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await clock.sleep(watchEveryMs, closing.signal);
      const now = clock.monotonic();
      const stalled = [...loops.values()].filter(({ askedAt }) => askedAt !== null && now - askedAt > stalledMs);
      if (stalled.length === 0) continue;
      const leaders = stalled.map(({ leader }) => leader);
      logger.error('the log has not answered for too long; connecting anew', { leaders, stalledMs });
      cluster.reset();
      for (const loop of stalled) loop.giveUp?.(new Error(`the log has not answered for ${stalledMs} ms`));
    }
  };

  void watch();

  return {
    add(added) {
      sources.add(added);
      waits.noteChange();
      wake();
      void findLeaders();
    },
    remove(removed) {
      for (const source of sources.remove(removed)) rests.forget(source);
      waits.noteChange();
      wake();
    },
    wake,
    close() {
      closing.abort();
      cluster.close();
      sources.clear();
      for (const loop of loops.values()) loop.giveUp?.(new Error('closed'));
      wake();
    },
  };
}
