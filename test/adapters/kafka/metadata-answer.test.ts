// What kafkajs makes of a Metadata answer, mended: one partition without a leader, or one topic with an error, takes nothing from the others.

import { beforeAll, describe, expect, it } from '@jest/globals';
import response from 'kafkajs/src/protocol/requests/metadata/v6/response.js';

import { createKafkaClient } from '../../../src/adapters/kafka/client.ts';
import { silentLogger as logger } from '../sqlite/silent-logger.ts';

const [ok, unknownTopic, noLeader, otherListener, notAllowed] = [0, 3, 5, 72, 29];

beforeAll(() => {
  const settings = { brokers: [], clientId: 'test', prefix: '', tls: null, sasl: null, replication: null };
  createKafkaClient({ settings, logger });
});

const led = (partitionId: number) => ({ partitionErrorCode: ok, partitionId, leader: 2 });
const topicOf = (topic: string, topicErrorCode = ok) => ({
  topic,
  topicErrorCode,
  partitionMetadata: topicErrorCode === ok ? [led(0)] : [],
});

describe("kafkajs' answer about topics, mended", () => {
  it.each([noLeader, otherListener])(
    'takes a partition with error %d for one without a leader, and keeps the rest',
    async (code) => {
      const without = { partitionErrorCode: code, partitionId: 1, leader: 3 };
      const events = { topic: 'events', topicErrorCode: ok, partitionMetadata: [led(0), without, led(2)] };
      const { topicMetadata } = await response.parse({ topicMetadata: [events, topicOf('others')] });
      expect(topicMetadata).toEqual([
        { ...events, partitionMetadata: [led(0), { partitionErrorCode: ok, partitionId: 1, leader: -1 }, led(2)] },
        topicOf('others'),
      ]);
    },
  );

  it.each([unknownTopic, notAllowed])('leaves out a topic with error %d, and keeps the others', async (code) => {
    const { topicMetadata } = await response.parse({ topicMetadata: [topicOf('gone', code), topicOf('events')] });
    expect(topicMetadata).toEqual([topicOf('events')]);
  });

  it('is the error of the only topic that was asked for', async () => {
    const asked = response.parse({ topicMetadata: [topicOf('gone', unknownTopic)] });
    await expect(asked).rejects.toMatchObject({ type: 'UNKNOWN_TOPIC_OR_PARTITION' });
  });
});
