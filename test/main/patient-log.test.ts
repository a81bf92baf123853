// Reading a log through errors that pass: nothing is missing and nothing twice; an end, and a sentence, for those that don't.

import { describe, expect, it } from '@jest/globals';

import { defaultPartitioning, workTopic } from '../../src/domain/topics.ts';
import { patientLog } from '../../src/main/patient-log.ts';
import type { LogEntry } from '../../src/ports/event-log.ts';
import { wallClock } from '../support/wall-clock.ts';

const topic = workTopic('SMS', 'HIGH');
const range = { topic, partition: 0, from: 2, to: 9 };

/** A log of 9 events whose calls fail as often as `failures` says; time passes by its sleeps alone. */
function world(failures: () => boolean) {
  let now = 0;
  const lines: string[] = [];
  const slept: number[] = [];
  const log = {
    partitioning: defaultPartitioning,
    async ends() {
      if (failures()) throw new Error('the broker is not there');
      return [9];
    },
    async *read({ from, to }: typeof range) {
      for (let offset = from; offset < to; offset++) {
        if (failures()) throw new Error('the broker is not there');
        yield { topic, partition: 0, offset } as LogEntry;
      }
    },
  };
  const clock = {
    ...wallClock,
    monotonic: () => now,
    async sleep(ms: number) {
      slept.push(ms);
      now += ms;
    },
  };
  const silent = () => undefined;
  const logger = { debug: silent, info: silent, error: silent, warn: (line: string) => void lines.push(line) };
  return { log: patientLog(log, { clock, logger }), lines, slept };
}

async function offsetsOf(entries: AsyncIterable<LogEntry>): Promise<number[]> {
  const offsets: number[] = [];
  for await (const { offset } of entries) offsets.push(offset);
  return offsets;
}

describe('A patient log', () => {
  it('goes on behind the last event that it gave, with a line for each failure', async () => {
    let calls = 0;
    const { log, lines } = world(() => ++calls % 3 === 0);
    expect(await offsetsOf(log.read(range))).toEqual([2, 3, 4, 5, 6, 7, 8]);
    expect(lines).toHaveLength(3);
  });

  it('waits longer with each failure in a row, at most 5 s, and as at first once something was read', async () => {
    let calls = 0;
    const { log, slept } = world(() => ++calls <= 8 || calls === 10);
    await offsetsOf(log.read(range));
    expect(slept).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 100]);
  });

  it('ends with one sentence after five minutes in vain', async () => {
    const ended = {
      name: 'StartError',
      message: expect.stringMatching(/^The event log could not be read for 5 minutes/),
    };
    await expect(offsetsOf(world(() => true).log.read(range))).rejects.toMatchObject(ended);
    await expect(world(() => true).log.ends(topic)).rejects.toMatchObject(ended);
  });
});
