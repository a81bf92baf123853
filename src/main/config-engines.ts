// The settings of the engines that many processes share: Kafka, a schema registry, MongoDB, Redis.

import { z } from 'zod';

import { brokers, flag, urlOf } from './config-values.ts';

/** What reads a variable, its default (null: none), what it is for. `secret` values are never printed. */
export interface Variable {
  readonly schema: z.ZodType<unknown, string>;
  readonly fallback: string | null;
  /** The default there, where it is another one. */
  readonly inProduction?: string;
  readonly about: string;
  readonly secret?: boolean;
}

export const engineVariables = {
  KAFKA_BROKERS: {
    schema: brokers,
    fallback: null,
    about:
      'host:port of Kafka brokers, commas between them; set: Kafka, MongoDB and Redis in place of the embedded engines',
  },
  KAFKA_PREFIX: {
    schema: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,60}$/, 'should be at most 60 letters, digits, dots, dashes, underscores'),
    fallback: null,
    about: 'put before the names of topics, groups and Redis keys, so that several Heralds can share them',
  },
  KAFKA_REPLICATION: {
    schema: z
      .string()
      .regex(/^[1-9]$/, 'should be a number from 1 to 9')
      .transform(Number),
    fallback: null,
    about:
      "replicas of the topics that Herald makes; without it the brokers' default. From 3 on min.insync.replicas is 2",
  },
  KAFKA_TLS: { schema: flag, fallback: 'false', about: 'true: TLS to the brokers' },
  KAFKA_TLS_CA: { schema: z.string(), fallback: null, about: 'PEM file of the authority that signed the brokers' },
  KAFKA_TLS_CERT: { schema: z.string(), fallback: null, about: 'PEM file of the certificate to show the brokers' },
  KAFKA_TLS_KEY: { schema: z.string(), fallback: null, about: 'PEM file of its key' },
  KAFKA_SASL_MECHANISM: {
    schema: z.enum(['plain', 'scram-sha-256', 'scram-sha-512'], 'should be plain, scram-sha-256 or scram-sha-512'),
    fallback: null,
    about: 'plain, scram-sha-256 or scram-sha-512',
  },
  KAFKA_SASL_USERNAME: { schema: z.string(), fallback: null, about: 'user at the brokers' },
  KAFKA_SASL_PASSWORD: { schema: z.string(), fallback: null, about: 'its password', secret: true },
  SCHEMA_REGISTRY_URL: {
    schema: urlOf(/^https?$/, 'http://registry:8081'),
    fallback: null,
    about: 'schema registry with the Confluent API',
    secret: true,
  },
  MONGODB_URL: {
    schema: z
      .string()
      .regex(/^mongodb(\+srv)?:\/\/\S+$/, 'should be a URL such as mongodb://mongodb:27017/herald?replicaSet=rs0'),
    fallback: null,
    about: 'replica set for read models and settings; its path names the database (herald)',
    secret: true,
  },
  REDIS_URL: {
    schema: urlOf(/^rediss?$/, 'redis://redis:6379'),
    fallback: null,
    about: 'Redis for the limits',
    secret: true,
  },
} as const satisfies Record<string, Variable>;
