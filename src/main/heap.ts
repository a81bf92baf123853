// How much memory the process takes rather than collect garbage.

import { setFlagsFromString } from 'node:v8';

const smallGrowsPercent = 25;

/**
 * The old generation of every isolate grows by a quarter between collections, where V8 lets it double and more: the embedded service takes
 * up to 290 MiB under full load. Catching up with a long log would take a third more time of a core: see `letHeapsGrowUntil`. To be called before any thread starts.
 *
 * Whatever is made begins in the young generation. V8 would make it in the old one, for good, wherever in the code 85 % of what it looked at had outlived a
 * collection of the young. Events and answers do while they wait for a disk, and a moment later they are garbage, which lasts there until all of the old
 * generation is collected: nine times in five batches of 10,000 items, of which each took 146 ms of the processors; without it twice, and 99.
 * @param growsPercent more where a process has little that lasts
 */
export function keepHeapsSmall(growsPercent = smallGrowsPercent): void {
  growBy(growsPercent);
  setFlagsFromString('--no-allocation-site-pretenuring');
  // The main thread's young generation has its size by now. As long as this says one, every other thread gets the same, whatever it is started with.
  setFlagsFromString('--max-semi-space-size=0');
}

/**
 * Of a service in a cluster, whose threads hold for longer what waits for a broker and for MongoDB, so that nearly all of it is copied into the old generation
 * and is garbage there. 170,000 items of batches, four at once, and their folding: of 250 MiB it became 345 at 50, 406 at 100, 600 as V8 likes; the two threads
 * were collected 51 times at 50, 14 as V8 likes.
 */
export const clusterHeapGrowsPercent = 50;

/** V8 sets an old generation's bound anew at each collection of it: nothing of this is for the start alone. */
function growBy(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/**
 * While read models are folded from the log's beginning, until they are: nobody's queries are answered from them meanwhile, and its end is what is waited for.
 * 200,000 notifications, embedded: 10,500 a second instead of 9,000, with their search 7,200 instead of 6,300, and 40 MiB more at the highest.
 * @param caughtUp never rejects
 */
export async function letHeapsGrowUntil(caughtUp: Promise<unknown>, growsPercent = smallGrowsPercent): Promise<void> {
  growBy(100);
  await caughtUp;
  growBy(growsPercent);
}
