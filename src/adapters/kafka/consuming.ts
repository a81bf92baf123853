// Everything of the Kafka event log that reads: consumers of groups, the tail, ranges.

import type { Erasures } from '../../domain/erasure.ts';
import type { Partitioning, Topic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Consumer, EventLog } from '../../ports/event-log.ts';
import type { SurveyedRange } from '../../ports/log-survey.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Names } from './client.ts';
import { startConsumer } from './consumer.ts';
import { createFetcher, type Fetcher } from './fetcher.ts';
import type { LogCluster } from './log-cluster.ts';
import { readRange, surveyRange } from './range.ts';
import { sourceBytesMax } from './reader.ts';
import type { EntryDecoder } from './schemas.ts';
import { createTail } from './tail.ts';

export interface ConsumingDependencies {
  readonly names: Names;
  /** For offsets, commits and ranges; closed with what reads. */
  readonly asking: LogCluster;
  /** Connections of their own to the brokers, for topics as these call them. */
  clusterOf(topics: readonly string[]): LogCluster;
  readonly decoder: EntryDecoder;
  readonly erasures: Pick<Erasures, 'isPassedOver'>;
  readonly partitioning: Partitioning;
  /** All that the log has. */
  readonly topics: readonly Topic[];
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Consuming extends Pick<EventLog, 'consume' | 'tail' | 'read' | 'survey'> {
  /** This process knows that everything below `end` is in the log: the tail doesn't tell it to whoever listens from now on. */
  noteDurable(topic: Topic, partition: number, end: number): void;
  /** Stops every consumer, ends every tail; a range that is being read rejects. */
  close(): Promise<void>;
}

/** The tail wakes streams; its events are gathered for so long when many come. */
const tailGatherMs = 5;
/** The first stream of a quiet service asks for topics that nobody has asked for yet. */
const tailIdleWaitMs = 200;

export function createConsuming(deps: ConsumingDependencies): Consuming {
  const { names, asking, clusterOf, decoder, erasures, partitioning, topics, clock, logger } = deps;
  const allTopics = topics.map(names.topic);
  const consumers = new Set<Consumer>();
  let tailFetcher: Fetcher | null = null;
  let isClosed = false;

  const fetcherOfTail = (): Fetcher => {
    tailFetcher ??= createFetcher({
      cluster: clusterOf(allTopics),
      clock,
      logger,
      gatherMs: tailGatherMs,
      idleWaitMs: tailIdleWaitMs,
      partitionBytesMax: sourceBytesMax(partitioning.partitions),
    });
    return tailFetcher;
  };

  const tail = createTail({
    names,
    decoder,
    clock,
    logger,
    partitions: partitioning.partitions,
    cluster: asking,
    fetcher: fetcherOfTail,
  });

  const check = (topic: Topic, partition: number) => {
    if (isClosed) throw new Error('the event log is closed');
    if (!topics.includes(topic)) throw new Error(`the log has no topic ${topic}`);
    if (!Number.isInteger(partition) || partition < 0 || partition >= partitioning.partitions) {
      throw new Error(`partition ${partition} of ${topic}: partitions are 0 to ${partitioning.partitions - 1}`);
    }
  };

  const ranges = { cluster: asking, decoder, clock };
  const rangeOf = ({ topic, partition, from, to }: Omit<SurveyedRange, 'types'>) => {
    check(topic, partition);
    return { topic, name: names.topic(topic), partition, from, to, isPassedOver: erasures.isPassedOver };
  };

  return {
    async consume(options) {
      for (const topic of options.topics) check(topic, 0);
      const running = startConsumer(deps, asking, options);
      const consumer: Consumer = {
        async stop() {
          consumers.delete(consumer);
          await running.stop();
        },
      };
      consumers.add(consumer);
      return consumer;
    },

    tail(listened, listener) {
      for (const topic of listened) check(topic, 0);
      return tail.listen(listened, listener);
    },

    read({ aheadBytes, ofErased, ...range }) {
      const shown = ofErased === 'shown' ? { isPassedOver: () => false } : {};
      return readRange(ranges, { ...rangeOf(range), aheadBytes, ...shown });
    },

    survey: ({ types, ...range }) => surveyRange(ranges, rangeOf(range), types),

    noteDurable: tail.noteEnd,

    async close() {
      isClosed = true;
      tail.close();
      await Promise.all([...consumers].map((consumer) => consumer.stop()));
      tailFetcher?.close();
      asking.close();
    },
  };
}
