// How far reading runs ahead: to the limit, then on at half of it.

import { describe, expect, it } from '@jest/globals';

import { createOffsetWindow } from '../../src/dispatchers/offset-window.ts';
import { createReadAhead } from '../../src/dispatchers/read-ahead.ts';
import type { PartitionTracker } from '../../src/dispatchers/read-ahead.ts';

const limits = { eventsMax: 10, bytesMax: 1000, totalBytesMax: 1500, takeMax: 4 };
const newWindow = () => createOffsetWindow({ offset: 0, metadata: '' });

/** Whether a wait for room is over, without waiting for anything more to happen. */
async function isOver(room: Promise<unknown>): Promise<boolean> {
  return Promise.race([room.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

function begin(tracker: PartitionTracker, offsets: readonly number[], bytes: number): void {
  for (const offset of offsets) tracker.begin(offset, bytes);
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe('the read-ahead', () => {
  it('offers what is left of the window, and no more than a turn may take', async () => {
    const tracker = createReadAhead(limits).track('t', 0, newWindow());
    expect(await tracker.room()).toEqual({ eventsMax: 4, bytesMax: 1000 });
    begin(tracker, range(0, 8), 50);
    expect(await tracker.room()).toEqual({ eventsMax: 2, bytesMax: 600 });
  });

  it('stops at the events of a partition and goes on at half of them', async () => {
    const tracker = createReadAhead(limits).track('t', 0, newWindow());
    begin(tracker, range(0, 10), 1);
    const room = tracker.room();
    for (const offset of [0, 1, 2, 3]) tracker.finish(offset, 1);
    expect(await isOver(room)).toBe(false);
    tracker.finish(4, 1);
    expect(await room).toEqual({ eventsMax: 4, bytesMax: 995 });
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

  it('stops at the bytes of a partition', async () => {
    const tracker = createReadAhead(limits).track('t', 0, newWindow());
    begin(tracker, [0, 1], 600);
    const room = tracker.room();
    expect(await isOver(room)).toBe(false);
    tracker.finish(1, 600);
    expect(await isOver(room)).toBe(false);
    tracker.finish(0, 600);
    expect(await isOver(room)).toBe(true);
  });

  it('stops every partition at the bytes of all, and goes on with all at half of them', async () => {
    const readAhead = createReadAhead(limits);
    const [x, y, z] = [0, 1, 2].map((partition) => readAhead.track('t', partition, newWindow()));
    if (x === undefined || y === undefined || z === undefined) throw new Error('three trackers');
    begin(x, [0], 800);
    begin(y, [0], 800);
    const room = z.room();
    expect(await isOver(room)).toBe(false);
    x.finish(0, 800);
    expect(await isOver(room)).toBe(false);
    y.finish(0, 800);
    expect(await room).toEqual({ eventsMax: 4, bytesMax: 1000 });
  });

  it('gives back what a lost partition held, and says so to whoever waits for room in it', async () => {
    const readAhead = createReadAhead(limits);
    const lost = readAhead.track('t', 0, newWindow());
    const other = readAhead.track('t', 1, newWindow());
    begin(lost, [0, 1], 800);
    const [lostRoom, otherRoom] = [lost.room(), other.room()];
    lost.close();
    expect(await lostRoom).toBeNull();
    expect(await otherRoom).not.toBeNull();
    lost.finish(0, 800);
    begin(other, [0], 900);
    expect(await other.room()).toEqual({ eventsMax: 4, bytesMax: 100 });
    const third = readAhead.track('t', 2, newWindow());
    begin(third, [0], 700);
    expect(await isOver(third.room())).toBe(false);
  });
});
