// The order in which a range of a number's topics is folded anew: what says that some are forgotten stands behind what it names, and before what came after it.

import { describe, expect, it } from '@jest/globals';

import type { TenantId } from '../../src/domain/ids.ts';
import { deliveriesTopic, retentionTopic, workTopic } from '../../src/domain/topics.ts';
import type { Topic } from '../../src/domain/topics.ts';
import type { EventLog, LogEntry } from '../../src/ports/event-log.ts';
import { inOrderOfTime } from '../../src/projections/in-order-of-time.ts';
import { noon, partition } from './histories.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const high = workTopic('EMAIL', 'HIGH');

/** When it was appended, and when it happened. */
type Times = readonly [appended: number, happened: number | null];

describe('what says that some are forgotten', () => {
  it('comes before what was appended and happened after it', async () => {
    const order = await orderOf({ [deliveriesTopic]: [both(0), both(hourMs)], [retentionTopic]: [both(minuteMs)] });
    expect(order).toEqual([deliveriesTopic, retentionTopic, deliveriesTopic]);
  });

  it.each<{ readonly where: string; readonly at: Times }>([
    { where: 'a leader’s clock was ahead', at: [hourMs, -1] },
    { where: 'the clock of the process that said it was ahead', at: [-1, hourMs] },
    { where: 'both were ahead by as much as clocks differ', at: [minuteMs, minuteMs] },
    { where: 'the log’s times stand still until the clock has come up to them', at: [0, hourMs] },
    { where: 'its bytes don’t tell when it happened', at: [hourMs, null] },
  ])('comes behind what may be named by it where $where', async ({ at }) => {
    const order = await orderOf({ [retentionTopic]: [both(0)], [high]: [at, both(2 * hourMs)] });
    expect(order).toEqual([high, retentionTopic, high]);
  });

  it('waits for what stands before it, and what came after it waits with it', async () => {
    const younger = both(hourMs);
    const order = await orderOf({
      [deliveriesTopic]: [younger],
      [retentionTopic]: [both(0)],
      [high]: [[2 * hourMs, -1]],
    });
    expect(order).toEqual([high, retentionTopic, deliveriesTopic]);
  });
});

function both(at: number): Times {
  return [at, at];
}

async function orderOf(topics: Readonly<Record<Topic, readonly Times[]>>): Promise<Topic[]> {
  const entries = Object.entries(topics).flatMap(([topic, all]) =>
    all.map((times, offset): LogEntry => entryAt(topic, offset, times)),
  );
  const log: Pick<EventLog, 'read'> = {
    async *read({ topic }) {
      for (const entry of entries) if (entry.topic === topic) yield entry;
    },
  };
  const to = new Map(Object.entries(topics).map(([topic, all]) => [topic, all.length]));
  const order: Topic[] = [];
  for await (const { topic } of inOrderOfTime(log, partition, { from: new Map(), to })) order.push(topic);
  return order;
}

function entryAt(topic: Topic, offset: number, [appended, happened]: Times): LogEntry {
  const head =
    happened === null
      ? null
      : {
          type: 'ProviderReported' as const,
          eventId: `${topic} ${offset}` as NonNullable<LogEntry['head']>['eventId'],
          occurredAt: noon + happened,
          tenantId: 'tnt_a' as TenantId,
        };
  const content = { size: 100, head, event: null, undecodable: null };
  return { topic, partition, offset, appendedAt: noon + appended, ...content };
}
