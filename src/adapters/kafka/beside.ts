// The log read beside the processes that keep it: in no group, and nothing is made of it, registered or committed.

import { createErasureReader } from '../../codec/erasures.ts';
import type { Codec } from '../../codec/index.ts';
import type { Topic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventLog } from '../../ports/event-log.ts';
import type { Logger } from '../../ports/logger.ts';
import { createAdmins } from './admin.ts';
import { createKafkaClient, type KafkaSettings } from './client.ts';
import { createConsuming } from './consuming.ts';
import { createLogCluster } from './log-cluster.ts';
import { formatTopic, readFormat } from './log-format.ts';
import { createOffsets } from './offsets.ts';
import { createRegistry } from './registry.ts';
import { createEntryDecoder } from './schemas.ts';
import { StartRefusal, waitUntilUp } from './wait-until-up.ts';

export interface KafkaLogBesideOptions {
  readonly settings: KafkaSettings;
  /** Confluent's API; may hold user:password@. */
  readonly registryUrl: string;
  readonly topics: readonly Topic[];
  readonly codec: Codec;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface KafkaLogBeside extends Pick<EventLog, 'partitioning' | 'read' | 'ends' | 'offsetAt'> {
  /** Made with the log, for good. */
  readonly id: string;
  close(): Promise<void>;
}

/** Waits for the brokers, and says so. @throws StartRefusal when there is no log, or another version made it; Error when credentials or certificates are wrong */
export async function openKafkaLogBeside(options: KafkaLogBesideOptions): Promise<KafkaLogBeside> {
  const { settings, registryUrl, topics, codec, clock, logger } = options;
  const client = createKafkaClient({ settings, logger });
  const { names } = client;
  const admins = createAdmins(client.kafka);
  const registry = createRegistry(registryUrl);
  const closeAsked = async () => {
    await admins.close();
    registry.close();
  };
  try {
    const found = async () => {
      const there = await admins.use((admin) => admin.listTopics());
      if (!there.includes(names.topic(formatTopic)))
        throw new StartRefusal(`The brokers hold no log of Herald (no topic ${names.topic(formatTopic)}).`);
      return readFormat(client);
    };
    const { id, partitioning } = await waitUntilUp('Kafka', found, { clock, logger });
    // No schema is known by its id: each that is met is asked for once.
    const decoder = createEntryDecoder({ registry, codec, ids: new Map() });
    const clusterOf = (of: readonly string[]) => createLogCluster({ client, topics: of });
    const asking = clusterOf(topics.map(names.topic));
    const consuming = createConsuming({
      names,
      asking,
      clusterOf,
      decoder,
      erasures: codec.erasures,
      partitioning,
      topics,
      clock,
      logger,
    });
    const { ends, offsetAt } = createOffsets({
      admins,
      cluster: asking,
      names,
      topics,
      partitions: partitioning.partitions,
    });
    const close = async () => {
      await consuming.close();
      await closeAsked();
    };
    const readErasures = createErasureReader({ ends, read: consuming.read });
    const read: EventLog['read'] = async function* (range) {
      await readErasures();
      yield* consuming.read(range);
    };
    return { id, partitioning, read, ends, offsetAt, close };
  } catch (error) {
    await closeAsked();
    throw error;
  }
}
