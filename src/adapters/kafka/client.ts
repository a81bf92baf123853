// The way to the brokers: one set of settings for kafkajs' public API and for the direct use of its cluster, and the names of topics and groups.

import { connect as connectTcp, isIP } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

import { type ISocketFactory, Kafka, type SASLOptions } from 'kafkajs';
import type { ClusterOptions } from 'kafkajs/src/cluster/index.js';

import type { Topic } from '../../domain/topics.ts';
import type { Logger } from '../../ports/logger.ts';
import { createKafkaLog, kafkaLogLevel } from './kafka-log.ts';
import { mendMetadataAnswer } from './metadata-answer.ts';
import { mendRequestQueue } from './request-queue.ts';
import { tlsOptions, type TlsSettings } from './tls.ts';

export interface KafkaSettings {
  /** host:port */
  readonly brokers: readonly string[];
  /** Put before the name of every topic and group; may be empty. */
  readonly prefix: string;
  readonly clientId: string;
  readonly tls: null | TlsSettings;
  readonly sasl: null | {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
    readonly username: string;
    readonly password: string;
  };
  /** Of the topics made here; null: what the broker has as its default. From 3 on an append needs two replicas. */
  readonly replication: number | null;
}

/** What topics and groups are called on the brokers. */
export interface Names {
  topic(topic: Topic): string;
  group(group: string): string;
  /** null: not one of ours. */
  topicOf(name: string): Topic | null;
  groupOf(name: string): string | null;
}

export interface KafkaClient {
  readonly kafka: Kafka;
  /** For kafkajs' internal Cluster, which produces and fetches directly. */
  readonly clusterOptions: ClusterOptions;
  readonly names: Names;
}

/**
 * Of produces and fetches: past 3 s a leader counts as hung, and with metadata at most 2 s old its successor is found in 5 to 10 s (measured).
 * The public API (groups, topics, offsets) gets 10 s: making all topics takes a loaded broker some seconds.
 */
const directTimeoutMs = 3_000;
const publicTimeoutMs = 10_000;
const metadataMaxAgeMs = 2_000;
const connectionTimeoutMs = 3_000;
const authenticationTimeoutMs = 5_000;
/** How long before the end of its session a connection authenticates anew. */
const reauthenticationThresholdMs = 10_000;
/** 0.1 + 0.2 + 0.4 + 0.8 s and what the requests take: whoever calls has a longer patience of its own. */
const retry = { initialRetryTime: 100, maxRetryTime: 1_000, retries: 4 };
const keepAliveMs = 30_000;

/** @throws StartRefusal naming a TLS setting that can't work */
export function createKafkaClient({ settings, logger }: { settings: KafkaSettings; logger: Logger }): KafkaClient {
  mendRequestQueue();
  mendMetadataAnswer();
  const { clientId, prefix } = settings;
  const shared = {
    brokers: nextOf(settings.brokers),
    clientId,
    connectionTimeout: connectionTimeoutMs,
    authenticationTimeout: authenticationTimeoutMs,
    reauthenticationThreshold: reauthenticationThresholdMs,
    enforceRequestTimeout: true,
    retry,
    socketFactory,
  };
  const ssl = settings.tls === null ? undefined : tlsOptions(settings.tls);
  const sasl = saslOf(settings);
  const kafka = new Kafka({
    ...shared,
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl }),
    requestTimeout: publicTimeoutMs,
    logLevel: kafkaLogLevel,
    logCreator: createKafkaLog(logger),
  });
  return {
    kafka,
    clusterOptions: {
      ...shared,
      ssl,
      sasl,
      logger: kafka.logger(),
      requestTimeout: directTimeoutMs,
      metadataMaxAge: metadataMaxAgeMs,
      allowAutoTopicCreation: false,
      maxInFlightRequests: null,
      isolationLevel: 1,
    },
    names: namesWith(prefix),
  };
}

/** kafkajs begins with the first of the list each time, and goes on to the next only when a connection is refused: one that stands still would stop all. */
function nextOf(brokers: readonly string[]): () => string[] {
  let turn = 0;
  return () => brokers.slice(turn++ % brokers.length).slice(0, 1);
}

function namesWith(prefix: string): Names {
  const without = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : null);
  return { topic: (topic) => prefix + topic, group: (group) => prefix + group, topicOf: without, groupOf: without };
}

function saslOf({ sasl }: KafkaSettings): SASLOptions | undefined {
  if (sasl === null) return undefined;
  const { mechanism, username, password } = sasl;
  return { mechanism, username, password };
}

/** As kafkajs' own, but nothing waits for an acknowledgement of what was sent before. */
const socketFactory: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  // kafkajs hands over null when there is no TLS, whatever its type says.
  const tls = ssl as ConnectionOptions | null;
  const socket =
    tls === null
      ? connectTcp({ host, port }, onConnect)
      : connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}), ...tls }, onConnect);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, keepAliveMs);
  return socket;
};
