// The event log on Kafka: topics, schemas, appending, and what the brokers say about offsets; consuming.ts holds all that fetches.

import type { Codec, EncodedEvent } from '../../codec/index.ts';
import { datumsOf, unpacked } from '../../codec/packed.ts';
import type { DomainEvent, EventType } from '../../domain/events.ts';
import { type Partitioning, type Topic, topicOf } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AppendResult, EventLog, LogIdentity } from '../../ports/event-log.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Metrics } from '../../ports/metrics.ts';
import { type Admins, createAdmins } from './admin.ts';
import { type AppendLimits, createAppender, defaultAppendLimits } from './append.ts';
import { createKafkaClient, type KafkaClient, type KafkaSettings } from './client.ts';
import { createConsuming } from './consuming.ts';
import { createLeaderless } from './leaderless.ts';
import { createLogCluster, type LogCluster } from './log-cluster.ts';
import { followErasures } from './erasures.ts';
import { formatTopic, keepFormat, keepTopics, renewTopics } from './log-format.ts';
import { createOffsets } from './offsets.ts';
import { ensurePositions, type GroupTopics } from './positions.ts';
import { createProducing, type Producing } from './producing.ts';
import { createReadiness } from './readiness.ts';
import { createRegistry, type Registry } from './registry.ts';
import { createEntryDecoder } from './schemas.ts';
import { registerSchemas, type SchemaIds } from './subjects.ts';
import { createTopicRetention, type TopicRetention } from './topic-retention.ts';
import { ensureTopics } from './topics.ts';
import { waitUntilUp } from './wait-until-up.ts';
import { headerOf } from './wire-format.ts';

export interface KafkaEventLogOptions {
  readonly settings: KafkaSettings;
  /** Confluent's API; may hold user:password@. */
  readonly registryUrl: string;
  /** What the log is made with: groups get position 0 on each partition that is new. */
  readonly shape: {
    readonly partitioning: Partitioning;
    readonly topics: readonly Topic[];
    readonly groups: readonly GroupTopics[];
  };
  readonly codec: Codec;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  /** Aborted: the start is given up. */
  readonly signal?: AbortSignal;
  readonly limits?: AppendLimits;
  /** Whether its topics are still those that it was made of; adopted: that is for the caller to say, by `adoptTopics`. Absent: checked. */
  readonly topicIds?: 'checked' | 'adopted';
  /** Whether it is looked at its topics' own retention again and again, for all logs of the process; absent: as it is opened. */
  readonly topicRetention?: 'followed';
}

export interface KafkaEventLog extends EventLog {
  readonly identity: LogIdentity;
  /** The topics that are there are the log's from now on. */
  adoptTopics(): Promise<void>;
  /** How many members a group has now, in all processes. */
  activeMembers(group: string): Promise<number>;
  /** Why its topics aren't fit to keep what is appended, as a sentence; null: they are, as far as is known. */
  losing(): string | null;
}

/**
 * Waits for the brokers and the registry, and says so. Makes what is missing.
 * @throws Error when the log was made with another partitioning, a topic has another number of partitions or is another one, a schema is incompatible, credentials or
 * certificates are wrong, or the signal is aborted
 */
export async function openKafkaEventLog(options: KafkaEventLogOptions): Promise<KafkaEventLog> {
  const { settings, registryUrl, shape, codec, clock, logger, metrics, limits = defaultAppendLimits } = options;
  const { partitioning, topics } = shape;
  const client = createKafkaClient({ settings, logger });
  const registry = createRegistry(registryUrl);
  const admins = createAdmins(client.kafka);
  const keptTopics = new Map([...topics, formatTopic].map((topic) => [client.names.topic(topic), topic]));
  const isFollowed = options.topicRetention === 'followed';
  const watched = isFollowed ? metrics : undefined;
  const retention = createTopicRetention({ admins, topics: keptTopics, clock, logger, metrics: watched });
  const asking = createLogCluster({ client, topics: topics.map(client.names.topic) });
  const { producing, ids, identity } = await prepareOrClose(options, { client, admins, asking, registry, retention });
  if (isFollowed) retention.follow();

  const decoder = createEntryDecoder({ registry, codec, ids });
  const headers = new Map([...ids].map(([type, id]) => [type, headerOf(id)]));
  const consuming = createConsuming({
    names: client.names,
    asking,
    clusterOf: (of) => createLogCluster({ client, topics: of }),
    decoder,
    erasures: codec.erasures,
    partitioning,
    topics,
    clock,
    logger,
  });
  const appender = createAppender({
    producing,
    topics,
    partitions: partitioning.partitions,
    nameOf: client.names.topic,
    clock,
    logger,
    limits,
    onDurable: consuming.noteDurable,
    onFlush: (tookMs) => metrics?.observe('herald_append_seconds', tookMs / 1000),
  });
  metrics?.gauge('herald_append_queue', appender.queued);
  const { partitions } = partitioning;
  const offsets = createOffsets({ admins, cluster: asking, names: client.names, topics, partitions });
  const readiness = createReadiness({ producing, appender, clock });
  let closing: Promise<void> | null = null;
  let endFollowing = () => {};

  const close = async () => {
    endFollowing();
    retention.close();
    readiness.close();
    // What consumers still do is fenced; their outcomes are appended before the log is closed (main's order).
    await appender.close();
    await consuming.close();
    producing.close();
    await admins.close();
    registry.close();
  };

  const { ends } = offsets;
  const { read, survey, tail } = consuming;
  try {
    endFollowing = await followErasures({ ends, read, tail }, topics, { clock, logger, signal: options.signal });
  } catch (error) {
    await close();
    throw error;
  }

  /** The tail tells of it some moments later. */
  const noted = (event: DomainEvent, result: AppendResult): AppendResult => {
    if (result.kind === 'durable') codec.erasures.note(event);
    return result;
  };

  const knownHeader = (type: EventType) => {
    const header = headers.get(type);
    if (header === undefined) throw new Error(`the schema of ${type} is not registered`);
    return header;
  };

  const append = (event: DomainEvent, { type, bytes }: EncodedEvent): Promise<AppendResult> => {
    const header = knownHeader(type);
    const appended = appender.append(topicOf(event), event.partition, header, bytes);
    return event.type === 'RecipientErased' || event.type === 'TenantErased'
      ? appended.then((result) => noted(event, result))
      : appended;
  };

  const appendAll = async (events: readonly DomainEvent[]) => {
    const encoded = codec.encodeAll(events);
    return Promise.all(events.map((event, i) => append(event, encoded[i] as EncodedEvent)));
  };

  return {
    partitioning,
    identity,
    append: async (event) => append(event, codec.encode(event)),
    appendAll,
    async appendEncoded(tenantId, events) {
      if (codec.erasures.hasTenant(tenantId)) return appendAll(unpacked(codec, events));
      const { topic, type, partitions } = events;
      const header = knownHeader(type);
      return Promise.all(
        datumsOf(events).map((bytes, i) => appender.append(topic, partitions[i] ?? -1, header, bytes)),
      );
    },
    consume: consuming.consume,
    tail,
    read,
    survey,
    ends,
    starts: offsets.starts,
    trim: offsets.trim,
    offsetAt: offsets.offsetAt,
    isErased: codec.erasures.has,
    isTenantErased: codec.erasures.hasTenant,
    committed: offsets.committed,
    activeMembers: offsets.activeMembers,
    adoptTopics: () => renewTopics(client, topics.map(client.names.topic), clock),
    losing: retention.problem,
    ready: readiness.ready,
    close: () => (closing ??= close()),
  };
}

interface Connections {
  readonly client: KafkaClient;
  readonly admins: Admins;
  readonly asking: LogCluster;
  readonly registry: Registry;
  readonly retention: TopicRetention;
}

interface Prepared {
  readonly producing: Producing;
  readonly ids: SchemaIds;
  readonly identity: LogIdentity;
}

async function prepareOrClose(options: KafkaEventLogOptions, connections: Connections): Promise<Prepared> {
  try {
    return await prepare(options, connections);
  } catch (error) {
    connections.asking.close();
    await connections.admins.close();
    connections.registry.close();
    throw error;
  }
}

/** The registry before the last step: nobody may append what nobody could read. */
async function prepare(options: KafkaEventLogOptions, connections: Connections): Promise<Prepared> {
  const { client, admins, asking, registry, retention } = connections;
  const { settings, shape, codec, clock, logger, signal, topicIds = 'checked' } = options;
  const { topics, groups, partitioning } = shape;
  const { names, kafka } = client;
  const own = topics.map(names.topic);
  const waiting = { clock, logger, signal };
  const topicSettings = { replication: settings.replication, logger };
  const identity = await waitUntilUp(
    'Kafka',
    () =>
      admins.use(async (admin) => {
        await ensureTopics(admin, [names.topic(formatTopic)], 1, topicSettings);
        const found = await keepFormat(client, partitioning, clock);
        await ensureTopics(admin, own, partitioning.partitions, topicSettings);
        if (topicIds === 'checked') await keepTopics(client, own, clock);
        await ensurePositions({ kafka, admin, cluster: asking, names, logger }, groups);
        return found;
      }),
    waiting,
  );
  await retention.look();
  const register = () => registerSchemas({ registry, codec, nameOf: names.topic });
  const ids = await waitUntilUp('the schema registry', register, waiting);
  const watched = options.topicRetention === 'followed' ? options.metrics : undefined;
  const of = { topics: own, partitions: partitioning.partitions, logger, metrics: watched };
  const producing = createProducing(client, own, createLeaderless(of));
  await waitUntilUp('Kafka', producing.refresh, waiting);
  return { producing, ids, identity };
}
