// How far reading runs ahead: to the limit, then on at half of it; and never so far that others wait for it.

import { describe, expect, it } from '@jest/globals';

import { createOffsetWindow } from '../../src/dispatchers/offset-window.ts';
import { createReadAhead } from '../../src/dispatchers/read-ahead.ts';
import type { PartitionTracker } from '../../src/dispatchers/read-ahead.ts';

const limits = {
  eventsMax: 10,
  ownBytesMax: 200,
  poolBytesMax: 1200,
  takeEventsMax: 4,
  takeBytesMax: 1000,
};
const newWindow = () => createOffsetWindow({ offset: 0, metadata: '' });

/** Whether a wait for room is over, without waiting for anything more to happen. */
async function isOver(room: Promise<unknown>): Promise<boolean> {
  return Promise.race([room.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

function begin(tracker: PartitionTracker, offsets: readonly number[], bytes: number): void {
  for (const offset of offsets) tracker.begin(offset, bytes);
}

function tracked<T extends readonly string[]>(
  readAhead: ReturnType<typeof createReadAhead>,
  topics: readonly [...T],
): { [K in keyof T]: PartitionTracker } {
  return topics.map((topic, partition) => readAhead.track(topic, partition, newWindow())) as {
    [K in keyof T]: PartitionTracker;
  };
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe('the read-ahead', () => {
  it('offers what is left of the window, and no more than a turn may take', async () => {
    const tracker = createReadAhead(limits).track('t', 0, newWindow());
    expect(await tracker.room()).toEqual({ eventsMax: 4, bytesMax: 1000 });
    begin(tracker, range(0, 8), 50);
    // Its own and what is free of the pool: 200 + 1,000, of which it holds 400.
    expect(await tracker.room()).toEqual({ eventsMax: 2, bytesMax: 800 });
  });

  it('stops at the events of a partition and goes on at half of them', async () => {
    const tracker = createReadAhead(limits).track('t', 0, newWindow());
    begin(tracker, range(0, 10), 1);
    const room = tracker.room();
    for (const offset of [0, 1, 2, 3]) tracker.finish(offset, 1);
    expect(await isOver(room)).toBe(false);
    tracker.finish(4, 1);
    expect(await room).toEqual({ eventsMax: 4, bytesMax: 1000 });
  });

  it('counts what is finished beyond the mark: it must fit into a commit', async () => {
    const tracker = createReadAhead(limits).track('t', 0, newWindow());
    begin(tracker, range(0, 10), 1);
    for (const offset of range(1, 10)) tracker.finish(offset, 1);
    const room = tracker.room();
    expect(await isOver(room)).toBe(false);
    tracker.finish(0, 1);
    expect(await isOver(room)).toBe(true);
  });

  it('stops where it holds as much of the pool as is left of it, and goes on at half of that', async () => {
    const tracker = createReadAhead(limits).track('t', 0, newWindow());
    begin(tracker, range(0, 8), 100);
    const room = tracker.room();
    expect(await isOver(room)).toBe(false);
    for (const offset of [0, 1]) tracker.finish(offset, 100);
    // 600 are held, 400 of them of the pool: 1,000 would be the limit.
    expect(await isOver(room)).toBe(false);
    tracker.finish(2, 100);
    expect(await isOver(room)).toBe(true);
  });

  it('lets a partition that holds nothing read on, whatever the others of its lane hold', async () => {
    const readAhead = createReadAhead(limits);
    const [x, y, z] = tracked(readAhead, ['t', 't', 't']);
    begin(x, [0], 900);
    begin(y, [0], 900);
    const room = z.room();
    expect(await isOver(room)).toBe(true);
    expect(await room).toEqual({ eventsMax: 4, bytesMax: 200 });
  });

  it('lets a partition go on by the half of its own, whatever the others of its lane hold', async () => {
    const readAhead = createReadAhead(limits);
    const [x, y, z] = tracked(readAhead, ['t', 't', 't']);
    begin(x, [0], 900);
    begin(y, [0], 900);
    begin(z, [0, 1], 100);
    const room = z.room();
    expect(await isOver(room)).toBe(false);
    z.finish(0, 100);
    expect(await isOver(room)).toBe(true);
    expect(await room).toEqual({ eventsMax: 4, bytesMax: 100 });
  });

  it('never lets one lane wait for memory of another', async () => {
    const readAhead = createReadAhead(limits);
    const [x, y, other] = tracked(readAhead, ['bulk', 'bulk', 'high']);
    begin(x, [0], 900);
    begin(y, [0], 900);
    begin(other, [0], 300);
    expect(await isOver(other.room())).toBe(true);
    expect(await other.room()).toEqual({ eventsMax: 4, bytesMax: 1000 });
  });

  it('leaves as much of the pool to the next as the others have, however early they came', async () => {
    const takeAll = async (tracker: PartitionTracker) => {
      let held = 0;
      for (let offset = 0; await isOver(tracker.room()); offset += 5) {
        tracker.begin(offset, 20);
        held += 20;
      }
      return held;
    };
    const wide = createReadAhead({ ...limits, eventsMax: 1000 });
    const [first, second, third] = tracked(wide, ['t', 't', 't']);
    expect(await takeAll(first)).toBe(200 + 600);
    expect(await takeAll(second)).toBe(200 + 300);
    expect(await takeAll(third)).toBe(200 + 160);
  });

  it('holds no more than the memory of its own of each, the pool, and a take beyond them', async () => {
    const readAhead = createReadAhead(limits);
    const all = tracked(
      readAhead,
      range(0, 12).map(() => 't'),
    );
    let held = 0;
    let offset = 0;
    for (let hasTaken = true; hasTaken;) {
      hasTaken = false;
      for (const tracker of all) {
        const room = tracker.room();
        if (!(await isOver(room))) continue;
        tracker.begin(offset++, 90);
        held += 90;
        hasTaken = true;
      }
    }
    expect(held).toBeGreaterThanOrEqual(12 * 200 + 1200 - 12 * 90);
    expect(held).toBeLessThanOrEqual(12 * 200 + 1200 + 12 * 90);
  });

  it('gives back what a lost partition held, and says so to whoever waits for room in it', async () => {
    const readAhead = createReadAhead(limits);
    const [lost, other] = tracked(readAhead, ['t', 't']);
    begin(lost, [0, 1], 800);
    begin(other, [0], 250);
    const [lostRoom, otherRoom] = [lost.room(), other.room()];
    expect(await isOver(otherRoom)).toBe(false);
    lost.close();
    expect(await lostRoom).toBeNull();
    expect(await otherRoom).not.toBeNull();
    lost.finish(0, 800);
    expect(await other.room()).toEqual({ eventsMax: 4, bytesMax: 1000 });
    begin(other, [1], 700);
    expect(await isOver(other.room())).toBe(false);
  });
});
