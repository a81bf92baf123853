// The log as of a moment, by property: what it gives is what was appended until then.

import { describe, expect, it } from '@jest/globals';

import { settingsTopic } from '../../src/domain/topics.ts';
import { cutAt, cutLog, type LogBeside } from '../../src/lookback/cut-log.ts';
import type { LogEntry } from '../../src/ports/event-log.ts';
import fc from '../support/properties.ts';

const topic = settingsTopic;

/** @param times by partition: when each event was appended */
function logOf(times: readonly (readonly number[])[]): LogBeside {
  const entryAt = (partition: number, offset: number): LogEntry => ({
    topic,
    partition,
    offset,
    appendedAt: times[partition]?.[offset] ?? 0,
    size: 1,
    head: null,
    event: null,
    undecodable: null,
  });
  return {
    id: 'log',
    partitioning: { partitions: times.length, shards: 1 },
    ends: async () => times.map(({ length }) => length),
    async *read({ partition, from, to }) {
      for (let offset = from; offset < Math.min(to, times[partition]?.length ?? 0); offset++)
        yield entryAt(partition, offset);
    },
    async offsetAt(_topic, partition, timeMs) {
      const at = times[partition]?.findIndex((time) => time >= timeMs) ?? -1;
      return at < 0 ? (times[partition]?.length ?? 0) : at;
    },
  };
}

async function entriesOf(log: LogBeside): Promise<readonly string[]> {
  const found: string[] = [];
  for (let partition = 0; partition < log.partitioning.partitions; partition++) {
    for await (const { offset, appendedAt } of log.read({ topic, partition, from: 0, to: Infinity }))
      found.push(`${partition}:${offset}:${appendedAt}`);
  }
  return found;
}

const someTimes = fc.array(
  fc.array(fc.nat(20)).map((all) => all.toSorted((a, b) => a - b)),
  { minLength: 1, maxLength: 3 },
);

describe('the log as of a moment', () => {
  it('holds what was appended until then, that very millisecond included, and nothing later', async () => {
    await fc.assert(
      fc.asyncProperty(someTimes, fc.nat(21), async (times, timeMs) => {
        const log = logOf(times);
        const cut = cutLog(log, await cutAt(log, [topic], timeMs));
        const until = times.map((all) => all.filter((time) => time <= timeMs));
        expect(await entriesOf(cut)).toEqual(await entriesOf(logOf(until)));
        expect(await cut.ends(topic)).toEqual(until.map(({ length }) => length));
        for (const [partition, { length }] of until.entries())
          expect(await cut.offsetAt(topic, partition, 99)).toBe(length);
      }),
    );
  });

  it('stays what it is while the log goes on, and has nothing of a topic that was not cut', async () => {
    const times = [[1, 2]];
    const log = logOf(times);
    const cut = cutLog(log, await cutAt(log, [topic], 5));
    times[0]?.push(3, 4);
    expect(await entriesOf(cut)).toEqual(['0:0:1', '0:1:2']);
    expect(await cut.ends('notifications.inbox')).toEqual([0]);
  });

  it('is read as whoever asks wants it', async () => {
    const asked: unknown[] = [];
    const whole = logOf([[1, 2, 3]]);
    const log: LogBeside = {
      ...whole,
      read(range) {
        asked.push(range);
        return whole.read(range);
      },
    };
    const cut = cutLog(log, new Map([[topic, [2]]]));
    const range = { topic, partition: 0, from: 0, aheadBytes: 1, ofErased: 'shown' } as const;
    for await (const { offset } of cut.read({ ...range, to: 9 })) expect(offset).toBeLessThan(2);
    expect(asked).toEqual([{ ...range, to: 2 }]);
  });
});
