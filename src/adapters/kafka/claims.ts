// One consumer's claims on partition numbers: prepared when the group gives a number, told once its positions are known, void when it is lost.

import type { Topic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type Claim,
  type CommittedPosition,
  type ConsumeOptions,
  releaseMaxMs,
  StaleOwnerError,
  type TopicCommit,
} from '../../ports/event-log.ts';
import type { Logger } from '../../ports/logger.ts';
import { backOffMs } from './back-off.ts';
import type { Names } from './client.ts';
import type { Commits } from './commits.ts';
import type { Identity, Membership } from './membership.ts';
import { createReader, type ReaderDependencies } from './reader.ts';

export interface ClaimsDependencies {
  readonly names: Names;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly reading: ReaderDependencies;
  readonly commits: Commits;
  /** Whether the coordinator has answered lately. */
  isCurrent(): boolean;
  /** Numbers were given up, which go to others once the group is joined again. */
  released(): void;
  readonly confirm: Membership['confirm'];
  /** What the group has committed of these numbers, by number and topic. @throws Error when it can't be asked */
  committed(numbers: readonly number[]): Promise<ReadonlyMap<number, ReadonlyMap<Topic, CommittedPosition | null>>>;
}

export interface Claims {
  /** Numbers that are claimed. */
  held(): readonly number[];
  /** The group's answer: numbers that are ours stay, others are taken; what it gives us no more is released, then lost. */
  assigned(numbers: readonly number[], identity: Identity): void;
  /** Loses every number. */
  evicted(): void;
  /** Voids every claim, without a word to the consumer but the signals. */
  end(): void;
}

/** Of a commit's note: what Kafka allows by default. */
const metadataMax = 4096;

interface Given {
  readonly numbers: readonly number[];
  readonly identity: Identity;
}

const nothing: Given = { numbers: [], identity: { memberId: '', generation: -1 } };

interface Held {
  readonly controller: AbortController;
  /** For whom the group keeps the number, and since when. */
  readonly identity: Identity;
  isTold: boolean;
  isReleasing: boolean;
}

export function createClaims(options: ConsumeOptions, deps: ClaimsDependencies): Claims {
  const { group, topics } = options;
  const { names, clock, logger, reading, commits } = deps;
  const held = new Map<number, Held>();
  /** By the group's last answer. */
  let given: Given = nothing;

  const lose = (partition: number) => {
    const number = held.get(partition);
    held.delete(partition);
    number?.controller.abort();
    if (number?.isTold === true) options.lost(partition);
  };

  /** Asks the consumer to finish with them, for so long at most, and loses them. Never rejects. */
  const release = async (leaving: ReadonlyMap<number, Held>): Promise<void> => {
    for (const number of leaving.values()) number.isReleasing = true;
    const waited = new AbortController();
    const told = [...leaving].filter(([, { isTold }]) => isTold);
    const finished = Promise.all(told.map(async ([partition]) => options.releasing?.(partition))).catch(
      (error: unknown) => logger.error('a partition number could not be released', { group, err: error }),
    );
    await Promise.race([finished, clock.sleep(releaseMaxMs, waited.signal)]);
    waited.abort();
    const leftOver = [...leaving].filter(([partition, number]) => held.get(partition) === number);
    for (const [partition] of leftOver) lose(partition);
    // The group may have thought better of it meanwhile.
    take();
    if (leftOver.some(([partition]) => !held.has(partition))) deps.released();
  };

  /** What was given and isn't held yet. */
  const take = () => {
    const { numbers, identity } = given;
    const gained = new Map<number, Held>();
    for (const partition of numbers) {
      if (held.has(partition)) continue;
      const number = { controller: new AbortController(), identity, isTold: false, isReleasing: false };
      held.set(partition, number);
      gained.set(partition, number);
    }
    if (gained.size > 0) void tell(gained);
  };

  const tell = async (gained: ReadonlyMap<number, Held>): Promise<void> => {
    const alive = () => [...gained].filter(([, { controller }]) => !controller.signal.aborted);
    for (let failures = 0; alive().length > 0; failures++) {
      try {
        const committed = await deps.committed(alive().map(([partition]) => partition));
        for (const [partition, number] of alive()) {
          number.isTold = true;
          options.owned(claimOf(partition, number, committed.get(partition) ?? new Map()));
        }
        return;
      } catch (error) {
        if (failures === 0)
          logger.warn('the positions of a group can not be read; trying again', { group, err: error });
        await clock.sleep(backOffMs(failures + 1));
      }
    }
  };

  const claimOf = (partition: number, { controller, identity }: Held, committed: Claim['committed']): Claim => {
    const { signal } = controller;
    const throwIfLost = () => {
      if (signal.aborted) throw new StaleOwnerError(`partition number ${partition} of group ${group} was lost`);
    };
    return {
      partition,
      signal,
      isCurrent: () => !signal.aborted && deps.isCurrent(),
      generation: identity.generation,
      committed,
      // While the group knows the member in its newest generation, nobody else was given what it holds.
      async confirm() {
        throwIfLost();
        await deps.confirm();
        throwIfLost();
      },
      read(from) {
        const places = [...from].map(([topic, offset]) => {
          checkTopic(topics, topic);
          return { topic, name: names.topic(topic), partition, offset };
        });
        return createReader(reading, signal, places);
      },
      async commit(of) {
        checkCommits(of, topics);
        const named = of.map(({ topic, offset, metadata }) => ({
          topic: names.topic(topic),
          partition,
          offset,
          metadata,
        }));
        await commits.commit(signal, named);
      },
    };
  };

  return {
    held: () => [...held.keys()].sort((a, b) => a - b),
    assigned(numbers, identity) {
      given = { numbers, identity };
      const leaving = new Map<number, Held>();
      for (const [partition, number] of held) {
        // As long as it is the same member it has said of each generation what it holds, and nobody else was given that.
        if (number.identity.memberId !== identity.memberId) lose(partition);
        else if (!numbers.includes(partition) && !number.isReleasing) leaving.set(partition, number);
      }
      take();
      if (leaving.size > 0) void release(leaving);
    },
    evicted() {
      given = nothing;
      for (const partition of held.keys()) lose(partition);
    },
    end() {
      given = nothing;
      for (const { controller } of held.values()) controller.abort();
      held.clear();
    },
  };
}

function checkTopic(topics: readonly Topic[], topic: Topic): void {
  if (!topics.includes(topic)) throw new Error(`the consumer reads ${topics.join(', ')}, not ${topic}`);
}

function checkCommits(commits: readonly TopicCommit[], topics: readonly Topic[]): void {
  for (const { topic, offset, metadata } of commits) {
    checkTopic(topics, topic);
    if (!Number.isSafeInteger(offset) || offset < 0) throw new Error(`${offset} is no offset to commit`);
    if (metadata.length > metadataMax) {
      throw new Error(`the metadata of a commit holds at most ${metadataMax} characters, not ${metadata.length}`);
    }
  }
}
