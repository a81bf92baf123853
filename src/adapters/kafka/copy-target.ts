// A log on Kafka as the target of a copy: made by it, and opened by nobody until it is complete.

import type { Topic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CopiedEntry, EventLogCopySource, EventLogCopyTarget, RawEntry } from '../../ports/event-log-copy.ts';
import { CopyRefusedError } from '../../ports/event-log-copy.ts';
import type { Logger } from '../../ports/logger.ts';
import { createAdmins } from './admin.ts';
import { createKafkaClient, type KafkaSettings } from './client.ts';
import { appendCopied, type CopyPlace } from './copy-append.ts';
import { patiently } from './copy-patience.ts';
import { writePositions } from './copy-positions.ts';
import { registerWritten, type WrittenIds } from './copy-schemas.ts';
import { setTimestamps } from './copy-topics.ts';
import { recordAt } from './records-asked.ts';
import { beginCopy, endCopy, formatTopic, type LogState } from './log-format.ts';
import { createLogCluster, type LogCluster } from './log-cluster.ts';
import { offsetsOf } from './offsets-asked.ts';
import { createRegistry } from './registry.ts';
import { type SetRight, setRight } from './topic-retention.ts';
import { ensureTopics } from './topics.ts';
import { StartRefusal, waitUntilUp } from './wait-until-up.ts';
import { headerOf } from './wire-format.ts';

export interface KafkaCopyTargetOptions {
  readonly settings: KafkaSettings;
  /** Confluent's API; may hold user:password@. */
  readonly registryUrl: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborted: waiting for an engine ends. */
  readonly signal?: AbortSignal;
}

type Source = Pick<EventLogCopySource, 'identity' | 'partitioning' | 'topics' | 'schemas'>;

/** What `begin` has found out; nothing else works before. */
interface Begun {
  readonly source: Source;
  readonly cluster: LogCluster;
  readonly producerId: string;
  readonly ids: WrittenIds;
  readonly names: readonly string[];
  /** As it was when it was begun. */
  readonly isComplete: boolean;
}

export function openKafkaCopyTarget(options: KafkaCopyTargetOptions): EventLogCopyTarget {
  const { settings, registryUrl, clock, logger, signal } = options;
  const { replication } = settings;
  const client = createKafkaClient({ settings, logger });
  const admins = createAdmins(client.kafka);
  const registry = createRegistry(registryUrl);
  const waiting = { clock, logger, signal };
  const nameOf = client.names.topic;
  let begun: Begun | null = null;

  const beginTopics = async ({ identity, partitioning, topics }: Source): Promise<LogState> => {
    const format = nameOf(formatTopic);
    const { partitions } = partitioning;
    await admins.use((admin) => ensureTopics(admin, [format], 1, { replication, logger }));
    const copy = { producerId: await newProducerId(format), source: identity };
    const state = await beginCopy(client, partitioning, { copy, nowMs: clock.now() });
    if (state.kind !== 'copying') return state;
    const made = { replication, logger, timestamps: 'CreateTime' } as const;
    const names = new Map(topics.map((topic) => [nameOf(topic), topic]));
    await admins.use(async (admin) => {
      await ensureTopics(admin, [...names.keys()], partitions, made);
      refuseLosing(await setRight(admin, names, clock));
    });
    return state;
  };

  const newProducerId = async (topic: string): Promise<string> => {
    const cluster = createLogCluster({ client, topics: [topic] });
    try {
      const of = { transactionalId: null, transactionTimeout: 0 };
      return (await cluster.askAnyone((broker) => broker.initProducerId(of))).producerId;
    } finally {
      cluster.close();
    }
  };

  const asked = <T>({ cluster }: Begun, ask: () => Promise<T>) => patiently({ cluster, clock, logger }, ask);
  const stamp = (of: Begun, type: 'CreateTime' | 'LogAppendTime'): Promise<void> => {
    const { cluster, names, source } = of;
    const { partitions } = source.partitioning;
    return asked(of, () => setTimestamps({ admins, cluster, clock, names, partitions }, type));
  };

  const begin = async (source: Source): Promise<'begun' | 'complete'> => {
    const state = await waitUntilUp('Kafka', () => beginTopics(source), waiting);
    if (state.kind === 'open')
      throw new CopyRefusedError(
        'A Herald was started on this log already: it is not for a copy. Give the copy a log of its own, by another KAFKA_PREFIX.',
      );
    const { schemas, topics } = source;
    const register = () => registerWritten({ registry, nameOf }, schemas);
    const ids = await waitUntilUp('the schema registry', register, waiting);
    const names = topics.map(nameOf);
    const cluster = createLogCluster({ client, topics: names });
    const isComplete = state.kind === 'copied';
    begun = { source, cluster, producerId: state.copy.producerId, ids, names, isComplete };
    await waitUntilUp('Kafka', () => cluster.connect(), waiting);
    if (state.kind === 'copying') await stamp(begun, 'CreateTime');
    return (await isUnderWay(begun)) ? 'begun' : 'complete';
  };

  /** Whoever was faster with the same log may have completed it: then its topics must not keep the times that this process asked for. */
  const isUnderWay = async (of: Begun): Promise<boolean> => {
    const { source, producerId } = of;
    const copy = { producerId, source: source.identity };
    const state = () => beginCopy(client, source.partitioning, { copy, nowMs: clock.now() });
    if ((await asked(of, state)).kind === 'copying') return true;
    await stamp(of, 'LogAppendTime');
    return false;
  };

  const ready = (): Begun => {
    if (begun === null) throw new Error('the copy was not begun');
    return begun;
  };
  const placeOf = (topic: Topic, partition: number): CopyPlace => ({ topic, name: nameOf(topic), partition });
  const valueOf = ({ schema, bytes }: RawEntry): Buffer => Buffer.concat([headerOf(ready().ids.of(schema)), bytes]);
  const holds = async ({ name, partition }: CopyPlace, entry: CopiedEntry): Promise<boolean> => {
    const { cluster, isComplete } = ready();
    const place = { topic: name, partition };
    const [start = 0] = await asked(ready(), () => offsetsOf(cluster, [place], 'start'));
    // Before the beginning is what was gone in the source, and what a copy that was opened has let go since.
    if (entry.offset < start) return isComplete || entry.bytes === null;
    const record = await asked(ready(), () => recordAt(cluster, place, entry.offset));
    if (entry.bytes === null) return record === null;
    return record !== null && record.appendedAt === entry.appendedAt && record.value.equals(valueOf(entry));
  };

  return {
    begin: (source) => begin(source).catch(refusal),
    async ends(topic) {
      const { cluster, source } = ready();
      const places = Array.from({ length: source.partitioning.partitions }, (_, partition) => ({
        topic: nameOf(topic),
        partition,
      }));
      return asked(ready(), () => offsetsOf(cluster, places, 'end'));
    },
    holds: (topic, partition, entry) => holds(placeOf(topic, partition), entry),
    append(topic, partition, entries) {
      const { cluster, producerId } = ready();
      return appendCopied({ cluster, clock, logger, producerId, valueOf, holds }, placeOf(topic, partition), entries);
    },
    async beginAt(topic, starts) {
      const name = nameOf(topic);
      const begins = starts.flatMap((start, partition) => (start > 0 ? [{ partition, offset: String(start) }] : []));
      if (begins.length === 0) return;
      await asked(ready(), () =>
        admins.use(async (admin) => {
          // kafkajs looks for its leaders only here.
          await admin.fetchTopicOffsets(name);
          await admin.deleteTopicRecords({ topic: name, partitions: begins });
        }),
      );
    },
    async writePositions(positions) {
      // The groups of a log that was opened have gone on.
      if (!(await isUnderWay(ready()).catch(refusal)))
        throw new CopyRefusedError('Another process has completed the copy of this log meanwhile.');
      await writePositions({ cluster: ready().cluster, names: client.names, clock }, positions);
    },
    async complete() {
      await stamp(ready(), 'LogAppendTime');
      await asked(ready(), () => endCopy(client, clock.now()));
      // Once more: another process of this copy may have set the other one in between, and sees from now on that it must not.
      await stamp(ready(), 'LogAppendTime');
    },
    async close() {
      begun?.cluster.close();
      await admins.close();
      registry.close();
    },
  };
}

/** Events come with times of long ago: a topic that ends any would have ended them before they were read once. */
function refuseLosing({ losing: [first] }: SetRight): void {
  if (first === undefined) return;
  const settings = Object.entries(first.settings).map((pair) => pair.join('='));
  throw new StartRefusal(
    `The topic ${first.name} loses events by its ${settings.join(', ')}, which may not be changed (${first.why}): set retention.ms=-1, retention.bytes=-1, cleanup.policy=delete.`,
  );
}

function refusal(error: unknown): never {
  const isRefusal = error instanceof StartRefusal || (error instanceof Error && error.name === 'RegistryRefusal');
  throw isRefusal ? new CopyRefusedError(error.message) : error;
}
