// Which partitions count as without a leader, of what brokers tell.

import { expect, it } from '@jest/globals';

import { createLeaderless } from '../../../src/adapters/kafka/leaderless.ts';
import { type Line, loggerTo } from './log-world.ts';

it('names a partition that nobody leads, and nothing of a topic that brokers do not tell of', () => {
  const lines: Line[] = [];
  const note = createLeaderless({
    topics: ['led', 'gone'],
    partitions: 2,
    logger: loggerTo(lines),
    metrics: undefined,
  });
  const told = { led: [1, null], gone: [] };
  const ofTopic = (topic: string) => told[topic === 'led' ? 'led' : 'gone'];
  note({
    leaderOf: (topic, partition) => ofTopic(topic)[partition] ?? null,
    partitionsOf: (topic) => ofTopic(topic).length,
  });
  expect(lines.map(({ fields }) => fields)).toEqual([{ partitions: ['led 1'], count: 1 }]);
});
