// A place for logs of a test's own on the shared brokers: names under a random prefix, and how all of it is removed.

import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import { Kafka, logLevel } from 'kafkajs';

import type { KafkaSettings } from '../../../src/adapters/kafka/client.ts';
import {
  type KafkaEventLog,
  type KafkaEventLogOptions,
  openKafkaEventLog,
} from '../../../src/adapters/kafka/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { allTopics, defaultPartitioning } from '../../../src/domain/topics.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { Logger } from '../../../src/ports/logger.ts';
import { engines } from '../../support/engines.ts';
import { removeTopicsAndGroups } from '../../support/engines-share.ts';
import { removeSubjects } from '../../support/registry-subjects.ts';
import { wallClock } from '../../support/wall-clock.ts';

/** As the wall clock, and a sleep ends with its signal. */
export const clock: Clock = {
  ...wallClock,
  sleep: (ms, signal) => setTimeout(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {}),
};

export interface Line {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface LogWorld {
  readonly settings: KafkaSettings;
  readonly kafka: Kafka;
  readonly registryUrl: string;
  /** What the logs opened here have logged, debug lines apart. */
  readonly lines: Line[];
  open(more?: Partial<KafkaEventLogOptions>): Promise<KafkaEventLog>;
  /** Closes what is open and removes every topic and group of the prefix: another world of it begins anew, with schemas that are registered already. */
  empty(): Promise<void>;
  /** The subjects as well. */
  remove(): Promise<void>;
}

export interface Places {
  readonly brokers?: readonly string[];
  readonly registryUrl?: string;
  readonly replication?: number;
  /** Of a world that was emptied. */
  readonly prefix?: string | undefined;
}

export function makeLogWorld(places: Places = {}): LogWorld {
  const { brokers = engines().kafkaBrokers, registryUrl = engines().registryUrl, replication = null } = places;
  const { prefix = `log-${randomBytes(4).toString('hex')}.` } = places;
  const settings: KafkaSettings = { brokers, prefix, clientId: 'test', tls: null, sasl: null, replication };
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  const lines: Line[] = [];
  const opened: KafkaEventLog[] = [];
  const shape = { partitioning: defaultPartitioning, topics: allTopics, groups: [] };
  const empty = async () => {
    for (const log of opened) await log.close();
    await removeTopicsAndGroups(brokers, prefix);
  };
  return {
    settings,
    kafka,
    registryUrl,
    lines,
    async open(more = {}) {
      const deps = { settings, registryUrl, shape, codec: createCodec(), clock, logger: loggerTo(lines) };
      const log = await openKafkaEventLog({ ...deps, ...more });
      opened.push(log);
      return log;
    },
    empty,
    async remove() {
      await empty();
      await removeSubjects(registryUrl, prefix);
    },
  };
}

export function loggerTo(lines: Line[]): Logger {
  const at =
    (level: keyof Logger) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
      void lines.push({ level, message, fields });
  return { debug() {}, info: at('info'), warn: at('warn'), error: at('error') };
}
