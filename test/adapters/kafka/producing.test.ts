// Producing over kafkajs in the states that dying brokers leave it in: whatever breaks there, asking again helps.

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import Broker from 'kafkajs/src/broker/index.js';

import { createKafkaClient } from '../../../src/adapters/kafka/client.ts';
import { createProducing, type Producing } from '../../../src/adapters/kafka/producing.ts';
import { until } from '../../support/until.ts';
import { silentLogger as logger } from '../sqlite/silent-logger.ts';

/** What stands for the brokers: all speak through kafkajs' `Broker`. */
interface Brokers {
  /** Node ids that a metadata answer names; each leads the partition of its number. Their hosts are `broker-<id>`. */
  named: readonly number[];
  /** Hosts whose connections break with whatever is sent. */
  readonly dead: Set<string>;
  /** Hosts that take connections and answer nothing. */
  readonly silent: Set<string>;
  /** The next request for metadata is answered after it. */
  held: Promise<void> | null;
  /** By which a produce went, but for the first. */
  readonly connections: number[];
}

const name = 'events';
const answer = { partition: () => undefined };
const settings = { clientId: 'test', prefix: '', tls: null, sasl: null, replication: null };
let brokers: Brokers;
let producing: Producing;

beforeEach(() => {
  brokers = { named: [1, 2], dead: new Set(), silent: new Set(), held: null, connections: [] };
  /** As kafkajs' own: connected once there is a connection, whether or not it was ever answered. */
  const connected = new Set<Broker>();
  const answered = new Set<Broker>();
  const fail = (message: string) => Promise.reject(Object.assign(new Error(message), { retriable: true }));
  jest.spyOn(Broker.prototype, 'isConnected').mockImplementation(function (this: Broker) {
    return connected.has(this);
  });
  jest.spyOn(Broker.prototype, 'connect').mockImplementation(async function (this: Broker) {
    if (connected.has(this)) return;
    connected.add(this);
    this.connectionPool.send = async () => {
      const { host } = this.connectionPool;
      if (brokers.dead.has(host)) connected.delete(this);
      if (brokers.dead.has(host) || brokers.silent.has(host)) await fail('the request failed');
      return answer;
    };
    this.connectionPool.getConnection = async (index) => ({
      send: (of) => {
        brokers.connections.push(index);
        return this.connectionPool.send(of);
      },
    });
    if (brokers.silent.has(this.connectionPool.host)) await fail('Request ApiVersions timed out');
    answered.add(this);
  });
  jest.spyOn(Broker.prototype, 'metadata').mockImplementation(async function (this: Broker) {
    if (!answered.has(this)) throw new Error('Broker not connected');
    if (brokers.silent.has(this.connectionPool.host)) return fail('Request Metadata timed out');
    const { named, held } = brokers;
    brokers.held = null;
    await held;
    return metadata(named);
  });
  jest.spyOn(Broker.prototype, 'initProducerId').mockImplementation(async function (this: Broker) {
    if (brokers.silent.has(this.connectionPool.host)) return fail('Request InitProducerId timed out');
    return { producerId: '7', producerEpoch: 0 };
  });
});
afterEach(() => {
  producing.close();
  jest.restoreAllMocks();
});

function metadata(named: readonly number[]) {
  const partitionMetadata = named.map((id) => ({ partitionId: id, leader: id, partitionErrorCode: 0 }));
  return {
    brokers: named.map((nodeId) => ({ nodeId, host: `broker-${nodeId}`, port: 9092, rack: null })),
    topicMetadata: [{ topic: name, partitionMetadata }],
  };
}

function open(...hosts: readonly string[]): void {
  const client = createKafkaClient({ settings: { ...settings, brokers: hosts.map((host) => `${host}:9092`) }, logger });
  producing = createProducing(client, [name]);
}

/** Whether a refresh works in the end, and what those before it said. */
async function refreshed(): Promise<{ works: boolean; reasons: readonly string[] }> {
  const reasons: string[] = [];
  while (reasons.length < 5) {
    try {
      await producing.refresh();
      return { works: true, reasons };
    } catch (error) {
      reasons.push(String(error));
    }
  }
  return { works: false, reasons };
}

const leaders = () => [1, 2].map((partition) => producing.leaderOf(name, partition));
const produced = (leader: number) => producing.produce(leader, [{ name, partitions: [] }], 0, 'few');

describe('Producing', () => {
  it('sends much by a connection of its own, which the broker does beside the other', async () => {
    open('broker-1');
    await refreshed();
    await produced(1);
    expect(brokers.connections).toEqual([]);
    expect(await producing.produce(1, [{ name, partitions: [] }], 0, 'many')).toMatchObject({ kind: 'answered' });
    expect(brokers.connections).toEqual([1]);
  });

  it('goes on after the last broker that it knew went while an answer came that names others', async () => {
    brokers.named = [1];
    open('broker-1', 'broker-2');
    await refreshed();
    const held = Promise.withResolvers<void>();
    brokers.held = held.promise;
    brokers.named = [2];
    const refresh = producing.refresh().catch(() => undefined);
    await until(() => brokers.held === null, { what: 'the question for metadata' });
    brokers.dead.add('broker-1');
    expect(await produced(1)).toMatchObject({ kind: 'failed' });
    held.resolve();
    await refresh;
    await produced(2);
    expect(await refreshed()).toEqual({ works: true, reasons: [] });
    expect(leaders()).toEqual([-1, 2]);
  });

  it('goes on after a time in which connections were taken and nothing was answered', async () => {
    open('broker-1');
    await refreshed();
    brokers.silent.add('broker-1').add('broker-2');
    await produced(1);
    await produced(2);
    expect((await refreshed()).works).toBe(false);
    brokers.silent.clear();
    expect((await refreshed()).works).toBe(true);
    expect(leaders()).toEqual([1, 2]);
  });

  it('asks another broker when the one that it asked stands still, and keeps what it knows', async () => {
    open('broker-1', 'broker-2');
    await refreshed();
    await produced(1);
    await produced(2);
    brokers.silent.add('broker-1');
    const { works, reasons } = await refreshed();
    expect(works).toBe(true);
    expect(reasons.length).toBeLessThanOrEqual(1);
    expect(leaders()).toEqual([1, 2]);
  });

  it('finds the brokers by each of its list: the first may be the one that stands still', async () => {
    brokers.silent.add('broker-1');
    open('broker-1', 'broker-2');
    expect((await refreshed()).works).toBe(true);
  });
});
