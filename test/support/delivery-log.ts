// What the log says of deliveries, on either set of engines; the embedded service has to be stopped.

import { join } from 'node:path';

import { openKafkaEventLog } from '../../src/adapters/kafka/event-log.ts';
import { createClock } from '../../src/adapters/node/clock.ts';
import { openEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../src/codec/index.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { deliveriesTopic } from '../../src/domain/topics.ts';
import { eventLogShape } from '../../src/main/event-log-shape.ts';
import type { EventLog } from '../../src/ports/event-log.ts';
import type { DataDir } from './data-dir.ts';
import { engineSet } from './engine-set.ts';

export async function* deliveriesOf(dataDir: DataDir): AsyncGenerator<DomainEvent> {
  const log = await open(dataDir);
  try {
    for (let partition = 0; partition < log.partitioning.partitions; partition++) {
      for await (const { event } of log.read({ topic: deliveriesTopic, partition, from: 0, to: Infinity })) {
        if (event !== null) yield event;
      }
    }
  } finally {
    await log.close();
  }
}

async function open({ path, environment }: DataDir): Promise<EventLog> {
  const [codec, clock] = [createCodec(), createClock()];
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  if (engineSet === 'embedded') {
    return openEventLog({ path: join(path, 'log.db'), codec, clock, logger, ...eventLogShape });
  }
  const { KAFKA_BROKERS = '', KAFKA_PREFIX = '', SCHEMA_REGISTRY_URL = '' } = environment;
  return openKafkaEventLog({
    settings: {
      brokers: KAFKA_BROKERS.split(','),
      prefix: KAFKA_PREFIX,
      clientId: 'test',
      tls: null,
      sasl: null,
      replication: null,
    },
    registryUrl: SCHEMA_REGISTRY_URL,
    shape: eventLogShape,
    codec,
    clock,
    logger,
  });
}
