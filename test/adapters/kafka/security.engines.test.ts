// TLS and SASL against a real broker: each way in works, and what a person has to mend stops the start with a sentence that holds no secret.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';

import type { KafkaSettings } from '../../../src/adapters/kafka/client.ts';
import type { KafkaEventLogOptions } from '../../../src/adapters/kafka/event-log.ts';
import { StartRefusal } from '../../../src/adapters/kafka/wait-until-up.ts';
import { defaultPartitioning, workTopic } from '../../../src/domain/topics.ts';
import type { Logger } from '../../../src/ports/logger.ts';
import { makeDataDir, startHerald } from '../../support/herald.ts';
import { requested } from '../../support/requested.ts';
import { type Mechanism, type SecuredKafka, startSecuredKafka } from '../../support/secured-kafka.ts';
import { until } from '../../support/until.ts';
import { type LogWorld, makeLogWorld } from './log-world.ts';

const topic = workTopic('EMAIL', 'HIGH');
const shape: KafkaEventLogOptions['shape'] = { partitioning: defaultPartitioning, topics: [topic], groups: [] };
const wrongPassword = 'pw-wrong-7319';
/** In all passwords and keys here; a user name and an address may be told. */
const secretParts = /7319|PRIVATE KEY/;

type Way = Pick<KafkaSettings, 'brokers' | 'tls' | 'sasl'>;

let kafka: SecuredKafka;
let world: LogWorld;
let opened = 0;

beforeAll(async () => {
  kafka = await startSecuredKafka();
  world = makeLogWorld({ brokers: [kafka.plaintext] });
}, 120_000);
afterAll(async () => {
  await world?.remove();
  await kafka?.stop();
}, 60_000);

const trusting = (ca: string | null = kafka.authority.cert): Way['tls'] => ({ ca, cert: null, key: null });
const byUser = (mechanism: Mechanism, password = kafka.passwords[mechanism]): Way => ({
  brokers: [kafka.saslSsl],
  tls: trusting(),
  sasl: { mechanism, username: kafka.username, password },
});
const byCertificate = (cert: string | null, key: string | null): Way => ({
  brokers: [kafka.ssl],
  tls: { ca: kafka.authority.cert, cert, key },
  sasl: null,
});

/** All levels, as text. */
function recording() {
  const lines: string[] = [];
  const at =
    (level: keyof Logger) =>
    (...said: readonly unknown[]) =>
      void lines.push(`${level} ${inspect(said, { depth: null })}`);
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  return { lines, logger };
}

/** A log of its own each time. */
async function open(way: Way, logger: Logger, signal?: AbortSignal) {
  const prefix = `${world.settings.prefix}${++opened}.`;
  const settings = { ...world.settings, ...way, prefix };
  return world.open({ settings, shape, logger, ...(signal === undefined ? {} : { signal }) });
}

async function appendAndReadBack(way: Way): Promise<void> {
  const { lines, logger } = recording();
  const log = await open(way, logger);
  const event = requested(3, 1);
  expect(await log.append(event)).toMatchObject({ kind: 'durable', position: { offset: 0 } });
  const read = [];
  for await (const entry of log.read({ topic, partition: 3, from: 0, to: 1 })) read.push(entry.event);
  // What its schema has added since is there as well.
  expect(read).toMatchObject([event]);
  await log.close();
  expectNoSecret(lines);
}

/** How a start ends that should be refused; one that waits ends with another error than StartRefusal. */
async function refusalOf(way: Way): Promise<string> {
  const { lines, logger } = recording();
  const error: unknown = await open(way, logger, AbortSignal.timeout(30_000)).catch((refused: unknown) => refused);
  expect(error).toBeInstanceOf(StartRefusal);
  expectNoSecret([inspect(error, { depth: null }), ...lines]);
  return (error as StartRefusal).message;
}

/** The line with it; gives the start up afterwards. */
async function reasonOfWaiting(way: Way): Promise<string> {
  const { lines, logger } = recording();
  const giveUp = new AbortController();
  const refused = expect(open(way, logger, giveUp.signal)).rejects.toThrow('given up while waiting for Kafka');
  const isReason = (line: string) => line.includes('waiting for Kafka');
  // kafkajs tries five times, at most 3 s each, before it gives up once.
  await until(() => lines.some(isReason), { timeoutMs: 30_000, what: 'the line' });
  giveUp.abort();
  await refused;
  expectNoSecret(lines);
  return lines.find(isReason) ?? '';
}

function expectNoSecret(said: readonly string[]): void {
  expect(said.join('\n')).not.toMatch(secretParts);
}

describe('a broker that wants TLS and a user', () => {
  it.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)(
    'takes and gives back events by %s, and no password is logged',
    async (mechanism) => appendAndReadBack(byUser(mechanism)),
  );

  it.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)(
    'stops the start at a wrong password by %s, naming the settings and no password',
    async (mechanism) => {
      const message = await refusalOf(byUser(mechanism, wrongPassword));
      expect(message).toMatch(/does not let this user in .*KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD/);
    },
  );

  it('stops the start when its certificate was signed by another authority than the one given, naming the setting', async () => {
    const message = await refusalOf({ ...byUser('plain'), tls: trusting(kafka.otherAuthority.cert) });
    expect(message).toMatch(/certificate of Kafka's broker 127\.0\.0\.1:\d+ is not trusted .*KAFKA_TLS_CA/);
  });

  it('stops the start when no authority is given and the system does not trust its certificate', async () => {
    const message = await refusalOf({ ...byUser('plain'), tls: trusting(null) });
    expect(message).toMatch(/is not trusted .*KAFKA_TLS_CA/);
  });

  it('stops the start when its certificate is for another host', async () => {
    const brokers = [kafka.saslSsl.replace('127.0.0.1', 'localhost')];
    const message = await refusalOf({ ...byUser('plain'), brokers });
    expect(message).toMatch(/localhost:\d+ is for another host: KAFKA_BROKERS/);
  });

  it('is waited for when no user is set, with a reason that asks about the settings: it only hangs up', async () => {
    expect(await reasonOfWaiting({ ...byUser('plain'), sasl: null })).toContain(
      'do KAFKA_TLS and KAFKA_SASL_MECHANISM',
    );
  });

  it('is waited for when it is spoken to without TLS, with a reason that asks about the settings', async () => {
    expect(await reasonOfWaiting({ ...byUser('plain'), tls: null })).toContain('do KAFKA_TLS and KAFKA_SASL_MECHANISM');
  });
});

describe('a broker that wants a certificate', () => {
  it('takes and gives back events of a client that has one of its authority', async () => {
    await appendAndReadBack(byCertificate(kafka.client.cert, kafka.client.key));
  });

  it('stops the start without a certificate, naming the settings', async () => {
    const message = await refusalOf(byCertificate(null, null));
    expect(message).toMatch(/wants a certificate that it trusts .*KAFKA_TLS_CERT and KAFKA_TLS_KEY/);
  });

  it("stops the start with another authority's certificate, naming the settings and showing no key", async () => {
    const message = await refusalOf(byCertificate(kafka.stranger.cert, kafka.stranger.key));
    expect(message).toMatch(/wants a certificate that it trusts .*KAFKA_TLS_CERT and KAFKA_TLS_KEY/);
  });

  it('is waited for when a user is set, with a reason that asks about the settings', async () => {
    const { sasl } = byUser('plain');
    const reason = await reasonOfWaiting({ ...byCertificate(kafka.client.cert, kafka.client.key), sasl });
    expect(reason).toContain('do KAFKA_TLS and KAFKA_SASL_MECHANISM');
  });
});

describe('files that can not work', () => {
  it('stop the start before a broker is asked, naming the setting', async () => {
    const { cert, key } = kafka.client;
    const refused = (tls: Way['tls']) => refusalOf({ brokers: [kafka.ssl], tls, sasl: null });
    expect(await refused({ ca: 'none', cert, key })).toMatch(/^KAFKA_TLS_CA: should be/);
    expect(await refused({ ca: null, cert: 'none', key })).toMatch(/^KAFKA_TLS_CERT: should be/);
    expect(await refused({ ca: null, cert, key: 'none' })).toMatch(/^KAFKA_TLS_KEY: should be/);
    expect(await refused({ ca: null, cert: kafka.stranger.cert, key })).toMatch(/^KAFKA_TLS_KEY: is not the key/);
  });
});

describe('the service on a broker that wants TLS and a user', () => {
  const environment = (password: string) => ({
    KAFKA_BROKERS: kafka.saslSsl,
    KAFKA_TLS: 'true',
    KAFKA_TLS_CA: kafka.authority.certFile,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: kafka.username,
    KAFKA_SASL_PASSWORD: password,
    LOG_LEVEL: 'debug',
  });

  it('starts by its settings, and accepts a notification', async () => {
    const dataDir = await makeDataDir('real');
    try {
      const herald = await startHerald(dataDir, environment(kafka.passwords['scram-sha-512']));
      try {
        const body = { channel: 'IN_APP', recipient: 'ada', body: 'Hello' };
        expect(await herald.notify(body)).toMatchObject({ status: 202 });
      } finally {
        await herald.stop();
      }
      expectNoSecret([herald.logs(), herald.banner]);
    } finally {
      await dataDir.remove();
    }
  }, 120_000);

  it('stops at once with a wrong password: one sentence on stderr, without a stack', async () => {
    const dataDir = await makeDataDir('real');
    try {
      const failed: unknown = await startHerald(dataDir, environment(wrongPassword)).catch((error: unknown) => error);
      const said = failed instanceof Error ? failed.message : '';
      expect(said).toMatch(/the service stopped at once:[^]*\nKafka does not let this user in .*KAFKA_SASL_PASSWORD/);
      expect(said).not.toMatch(/\n {4}at /);
      expectNoSecret([said]);
    } finally {
      await dataDir.remove();
    }
  }, 120_000);
});
