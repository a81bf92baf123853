// Starts the four engines as containers, by testcontainers, from the images that docker-compose.yml pins. Loaded only where a Docker daemon answers.

import { readFileSync } from 'node:fs';

import type { StartedTestContainer } from 'testcontainers';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { parse } from 'yaml';

import { freePort } from '../support/free-ports.ts';
import type { Addresses } from './scripts.ts';

export interface StartedContainers {
  readonly addresses: Addresses;
  stop(): Promise<void>;
}

/** A daemon that is merely slow to answer is as good as none. */
const daemonTimeoutMs = 10_000;
/** The first time the images are pulled. */
const startTimeoutMs = 300_000;

export async function dockerAnswers(): Promise<boolean> {
  const timeout = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), daemonTimeoutMs).unref());
  return Promise.race([
    timeout,
    getContainerRuntimeClient().then(
      () => true,
      () => false,
    ),
  ]);
}

export async function startInContainers(): Promise<StartedContainers> {
  const starting = [startKafka(), startRegistry(), startMongo(), startRedis()] as const;
  const results = await Promise.allSettled(starting);
  const stop = async () => {
    for (const result of results) if (result.status === 'fulfilled') await result.value.container.stop();
  };
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  const [kafka, registry, mongo, redis] = (await Promise.all(starting)).map(({ address }) => address);
  return { addresses: { kafka, registry, mongo, redis } as Addresses, stop };
}

interface Started {
  readonly container: StartedTestContainer;
  readonly address: string;
}

function imageOf(service: string): string {
  const file = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
  const { services } = parse(file) as { services: Record<string, { image?: string }> };
  const image = services[service]?.image;
  if (image === undefined) throw new Error(`docker-compose.yml pins no image of ${service}`);
  return image;
}

/** What a broker or a replica set member tells its clients of itself has to hold outside: the same port on both sides. */
async function startKafka(): Promise<Started> {
  const port = await freePort();
  const container = await new GenericContainer(imageOf('kafka'))
    .withExposedPorts({ container: port, host: port })
    .withEnvironment({
      KAFKA_NODE_ID: '1',
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_LISTENERS: `PLAINTEXT://:${port},CONTROLLER://:9093`,
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://127.0.0.1:${port}`,
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
    })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(startTimeoutMs)
    .start();
  return { container, address: `127.0.0.1:${port}` };
}

/** In memory, for the length of a run; docker-compose.yml's keeps its schemas in Kafka. */
async function startRegistry(): Promise<Started> {
  const container = await new GenericContainer(imageOf('registry').replace('-kafkasql:', '-mem:'))
    .withExposedPorts(8080)
    .withWaitStrategy(Wait.forHttp('/apis/ccompat/v7/subjects', 8080).forStatusCode(200))
    .withStartupTimeout(startTimeoutMs)
    .start();
  return {
    container,
    address: `http://${container.getHost()}:${container.getMappedPort(8080)}/apis/ccompat/v7`,
  };
}

async function startMongo(): Promise<Started> {
  const port = await freePort();
  const container = await new GenericContainer(imageOf('mongodb'))
    .withExposedPorts({ container: port, host: port })
    .withCommand(['mongod', '--replSet', 'rs0', '--bind_ip_all', '--port', String(port)])
    .withWaitStrategy(Wait.forLogMessage(/Waiting for connections/))
    .withStartupTimeout(startTimeoutMs)
    .start();
  const initiate = `rs.initiate({ _id: 'rs0', members: [{ _id: 0, host: '127.0.0.1:${port}' }] });
    while (!db.hello().isWritablePrimary) sleep(50);`;
  const { exitCode, output } = await container.exec(['mongosh', '--quiet', '--port', String(port), '--eval', initiate]);
  if (exitCode !== 0) {
    await container.stop();
    throw new Error(`the replica set could not be made: ${output}`);
  }
  return { container, address: `mongodb://127.0.0.1:${port}/?replicaSet=rs0` };
}

async function startRedis(): Promise<Started> {
  const container = await new GenericContainer(imageOf('redis'))
    .withExposedPorts(6379)
    .withCommand(['redis-server', '--save', '', '--appendonly', 'no'])
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .withStartupTimeout(startTimeoutMs)
    .start();
  return { container, address: `redis://${container.getHost()}:${container.getMappedPort(6379)}` };
}
