// Appending to a real broker over connections that break at will: nothing acknowledged is lost, the order holds, and everyone gets an answer.

import { connect, type Socket } from 'node:net';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import kafkajs, { type ISocketFactory } from 'kafkajs';

import {
  type AppendLimits,
  type Appender,
  createAppender,
  defaultAppendLimits,
} from '../../../src/adapters/kafka/append.ts';
import { createKafkaClient, type KafkaClient } from '../../../src/adapters/kafka/client.ts';
import type { KafkaEventLog } from '../../../src/adapters/kafka/event-log.ts';
import { createProducing, type Producing } from '../../../src/adapters/kafka/producing.ts';
import { createReadiness } from '../../../src/adapters/kafka/readiness.ts';
import { createRegistry } from '../../../src/adapters/kafka/registry.ts';
import { registerSchemas } from '../../../src/adapters/kafka/subjects.ts';
import { headerOf } from '../../../src/adapters/kafka/wire-format.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { allTopics, defaultPartitioning, type Topic, workTopic } from '../../../src/domain/topics.ts';
import type { AppendResult, LogEntry } from '../../../src/ports/event-log.ts';
import type { Logger } from '../../../src/ports/logger.ts';
import { requested } from '../../support/requested.ts';
import { until } from '../../support/until.ts';
import { clock, makeLogWorld } from './log-world.ts';

jest.setTimeout(60_000);

const world = makeLogWorld();
const codec = createCodec();
const logger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const sms = workTopic('SMS', 'HIGH');
const email = workTopic('EMAIL', 'HIGH');
let log: KafkaEventLog;
let client: KafkaClient;
let header: Buffer;

beforeAll(async () => {
  log = await world.open();
  client = createKafkaClient({ settings: world.settings, logger });
  const registry = createRegistry(world.registryUrl);
  const ids = await registerSchemas({ registry, codec, nameOf: client.names.topic });
  registry.close();
  header = headerOf(ids.get('NotificationRequested') ?? -1);
});
afterAll(() => world.remove());

describe('appending', () => {
  let network: Network;
  let producing: Producing;
  let appender: Appender;
  const durable: string[] = [];
  /** Why produces failed that may have been written. */
  const failed: string[] = [];

  const open = async (limits: Partial<AppendLimits> = {}) => {
    network = createNetwork();
    const clusterOptions = { ...client.clusterOptions, socketFactory: network.socketFactory };
    producing = createProducing({ clusterOptions }, allTopics.map(client.names.topic));
    await producing.refresh();
    const produce: Producing['produce'] = async (...of) => {
      const produced = await producing.produce(...of);
      if (produced.kind === 'failed' && produced.wasSent) failed.push(produced.reason);
      return produced;
    };
    appender = createAppender({
      producing: { ...producing, produce },
      topics: allTopics,
      partitions: defaultPartitioning.partitions,
      nameOf: client.names.topic,
      clock,
      logger,
      limits: { ...defaultAppendLimits, ...limits },
      onDurable: (topic, partition, end) => void durable.push(`${topic} ${partition} ${end}`),
      onFlush() {},
    });
  };
  beforeEach(() => {
    durable.splice(0);
    failed.splice(0);
  });
  afterEach(async () => {
    network.heal();
    await appender.close();
    producing.close();
  });

  const append = (topic: Topic, partition: number, n: number) =>
    appender.append(topic, partition, header, codec.encode(requested(partition, n)).bytes);

  it('loses nothing, repeats nothing and keeps the order while connections break with produces in flight', async () => {
    await open();
    const before = await log.ends(sms);
    const results: Promise<AppendResult>[] = [];
    for (let burst = 0; burst < 12; burst++) {
      if (burst % 2 === 1) network.cutAfterNextWrite();
      for (let n = 0; n < 250; n++) results.push(append(sms, n % 3, burst * 250 + n));
      await until(() => results.length - appender.queued() > burst * 125, { what: 'half of the burst' });
    }
    const answered = await Promise.all(results);
    expect(new Set(answered.map(({ kind }) => kind))).toEqual(new Set(['durable']));

    for (const partition of [0, 1, 2]) {
      const entries = await entriesFrom(sms, partition, before[partition] ?? 0);
      const expected = Array.from({ length: 3000 }, (_, n) => n).filter((n) => (n % 250) % 3 === partition);
      expect(entries.map(numberOf)).toEqual(expected);
      const byOffset = new Map(entries.map((entry) => [entry.offset, numberOf(entry)]));
      for (const n of expected) {
        const result = answered[n];
        expect(byOffset.get(result?.kind === 'durable' ? result.position.offset : -1)).toBe(n);
      }
    }
    // Else no produce was in flight when a connection broke, and this has tested nothing.
    expect(failed.length).toBeGreaterThan(0);
  });

  it('says refused of what was surely not sent, unknown of what may have been, and takes appends again by itself', async () => {
    await open({ deadlineMs: 500 });
    network.cutAfterNextWrite();
    network.isDown = true;
    const inFlight = append(sms, 4, 1);
    await until(() => appender.isFailing(), { what: 'the produce to fail' });
    const later = append(sms, 4, 2);
    expect((await inFlight).kind).toBe('unknown');
    expect((await later).kind).toBe('refused');
    network.heal();
    expect((await append(sms, 4, 3)).kind).toBe('durable');
    expect(appender.isFailing()).toBe(false);
  });

  it('is not ready while no broker can be reached, and ready again afterwards', async () => {
    await open({ deadlineMs: 300 });
    const readiness = createReadiness({ producing, appender, clock });
    expect(await readiness.ready()).toBe(true);
    network.isDown = true;
    network.cut();
    await until(async () => !(await readiness.ready()), { what: 'not being ready' });
    network.heal();
    await until(() => readiness.ready(), { what: 'being ready' });
    readiness.close();
    expect(await readiness.ready()).toBe(false);
  });

  it('refuses what does not fit into its queue, by number and by bytes, and takes it again when there is room', async () => {
    await open({ queueEvents: 10 });
    const byNumber = await Promise.all(Array.from({ length: 15 }, (_, n) => append(email, 0, n)));
    expect(byNumber.map(({ kind }) => kind)).toEqual([...Array(10).fill('durable'), ...Array(5).fill('refused')]);
    expect((await append(email, 0, 99)).kind).toBe('durable');
    await appender.close();
    producing.close();

    const { length } = codec.encode(requested(0, 1)).bytes;
    await open({ queueBytes: 3 * length });
    const byBytes = await Promise.all([1, 2, 3, 4].map((n) => append(email, 0, n)));
    expect(byBytes.map(({ kind }) => kind)).toEqual(['durable', 'durable', 'durable', 'refused']);
  });

  it('refuses an event that is larger than the topic takes, alone: those before and behind it are durable', async () => {
    await open();
    const large = appender.append(email, 3, header, Buffer.alloc(3 * 1024 * 1024));
    const others = [append(email, 3, 1), append(email, 3, 2)];
    expect(await large).toMatchObject({ kind: 'refused', reason: expect.stringContaining('max.message.bytes') });
    for (const other of others) expect((await other).kind).toBe('durable');
  });

  it('sends one by one what a topic does not take as one batch', async () => {
    await open();
    const name = client.names.topic(workTopic('WEBHOOK', 'HIGH'));
    const admin = world.kafka.admin();
    await admin.connect();
    const configEntries = [{ name: 'max.message.bytes', value: '1000' }];
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name, configEntries }],
    });
    await admin.disconnect();
    const results = await Promise.all(
      [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => append(workTopic('WEBHOOK', 'HIGH'), 0, n)),
    );
    const offsets = results.map((result) => (result.kind === 'durable' ? result.position.offset : -1));
    expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
    expect(offsets[0]).toBe(0);
  });

  it('puts a large event and small ones into the log in the order of the calls', async () => {
    await open();
    const before = (await log.ends(email))[5] ?? 0;
    const sizes = [1, 1, 300_000, 1, 1_500_000, 1, 1, 200_000, 200_000, 1];
    const of = (size: number, n: number) => {
      const event = requested(5, n);
      return codec.encode({ ...event, request: { ...event.request, body: 'x'.repeat(size) } }).bytes;
    };
    const results = await Promise.all(sizes.map((size, n) => appender.append(email, 5, header, of(size, n))));
    expect(results.map((result) => result.kind === 'durable' && result.position.offset - before)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);
  });

  it('tells what is durable before it answers', async () => {
    await open();
    const result = await append(sms, 9, 1);
    const end = result.kind === 'durable' ? result.position.offset + 1 : -1;
    expect(durable).toEqual([`${sms} 9 ${end}`]);
  });

  async function entriesFrom(topic: Topic, partition: number, from: number): Promise<LogEntry[]> {
    const entries: LogEntry[] = [];
    for await (const entry of log.read({ topic, partition, from, to: Infinity })) entries.push(entry);
    return entries;
  }
});

function numberOf({ event }: LogEntry): number {
  return event?.type === 'NotificationRequested' ? Number(event.recipient) : NaN;
}

interface Network {
  readonly socketFactory: ISocketFactory;
  /** New connections are refused. */
  isDown: boolean;
  cut(): void;
  /** The next bytes that are sent still arrive; their answer doesn't. */
  cutAfterNextWrite(): void;
  heal(): void;
}

function createNetwork(): Network {
  const sockets = new Set<Socket>();
  const nobody = 1;
  let isArmed = false;
  const cut = () => {
    for (const socket of sockets) socket.destroy(new Error('cut by the test'));
    sockets.clear();
  };
  const network: Network = {
    isDown: false,
    cut,
    cutAfterNextWrite: () => void (isArmed = true),
    heal() {
      isArmed = false;
      network.isDown = false;
    },
    socketFactory: ({ host, port, onConnect }) => {
      const socket = connect({ host, port: network.isDown ? nobody : port }, onConnect);
      sockets.add(socket);
      const write = socket.write.bind(socket) as (...of: unknown[]) => boolean;
      socket.write = (...of: unknown[]) => {
        const more = write(...of);
        if (isArmed) {
          isArmed = false;
          // However fast the broker is.
          socket.removeAllListeners('data');
          setImmediate(cut);
        }
        return more;
      };
      return socket;
    },
  };
  return network;
}
