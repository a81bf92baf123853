// One consumer's claims on partition numbers: prepared when the group gives a number, told once its positions are known, void when it is lost.

import type { Topic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Claim, CommittedPosition, ConsumeOptions, TopicCommit } from '../../ports/event-log.ts';
import type { Logger } from '../../ports/logger.ts';
import { backOffMs } from './back-off.ts';
import type { Names } from './client.ts';
import type { Commits } from './commits.ts';
import type { Identity } from './membership.ts';
import { createReader, type ReaderDependencies } from './reader.ts';

export interface ClaimsDependencies {
  readonly names: Names;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly reading: ReaderDependencies;
  readonly commits: Commits;
  /** What the group has committed of these numbers, by number and topic. @throws Error when it can't be asked */
  committed(numbers: readonly number[]): Promise<ReadonlyMap<number, ReadonlyMap<Topic, CommittedPosition | null>>>;
}

export interface Claims {
  /** The group's answer: numbers that were ours in the generation before stay, the others are lost and taken. */
  assigned(numbers: readonly number[], identity: Identity): void;
  /** Loses every number. */
  evicted(): void;
  /** Voids every claim, without a word to the consumer but the signals. */
  end(): void;
}

/** Of a commit's note: what Kafka allows by default. */
const metadataMax = 4096;

interface Held {
  readonly controller: AbortController;
  /** By whom, and up to which generation, the number is surely nobody else's. */
  identity: Identity;
  isTold: boolean;
}

export function createClaims(options: ConsumeOptions, deps: ClaimsDependencies): Claims {
  const { group, topics } = options;
  const { names, clock, logger, reading, commits } = deps;
  const held = new Map<number, Held>();

  const lose = (partition: number) => {
    const number = held.get(partition);
    held.delete(partition);
    number?.controller.abort();
    if (number?.isTold === true) options.lost(partition);
  };

  /** Another member can have had a number in a generation that we weren't told of. */
  const isSurelyOurs = ({ identity: last }: Held, now: Identity) =>
    last.memberId === now.memberId && last.generation + 1 === now.generation;

  const tell = async (gained: ReadonlyMap<number, Held>): Promise<void> => {
    const alive = () => [...gained].filter(([, { controller }]) => !controller.signal.aborted);
    for (let failures = 0; alive().length > 0; failures++) {
      try {
        const committed = await deps.committed(alive().map(([partition]) => partition));
        for (const [partition, number] of alive()) {
          number.isTold = true;
          options.owned(claimOf(partition, number.controller.signal, committed.get(partition) ?? new Map()));
        }
        return;
      } catch (error) {
        if (failures === 0)
          logger.warn('the positions of a group can not be read; trying again', { group, err: error });
        await clock.sleep(backOffMs(failures + 1));
      }
    }
  };

  const claimOf = (partition: number, signal: AbortSignal, committed: Claim['committed']): Claim => ({
    partition,
    signal,
    committed,
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
  });

  return {
    assigned(numbers, identity) {
      for (const [partition, number] of held) {
        if (numbers.includes(partition) && isSurelyOurs(number, identity)) number.identity = identity;
        else lose(partition);
      }
      const gained = new Map(
        numbers
          .filter((partition) => !held.has(partition))
          .map((partition) => [partition, { controller: new AbortController(), identity, isTold: false }]),
      );
      for (const [partition, number] of gained) held.set(partition, number);
      if (gained.size > 0) void tell(gained);
    },
    evicted() {
      for (const partition of held.keys()) lose(partition);
    },
    end() {
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
