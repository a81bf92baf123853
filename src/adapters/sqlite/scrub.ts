// Overwrites what the files hold and no row does: free pages, and former pages in the logs of writes. In a thread of its own, by connections that wait for
// nobody, so that whoever writes a file waits for a step of a few ms at most.

import { Worker } from 'node:worker_threads';

/** Of all files: a checkpoint comes to its end once no reader is in the midst of anything. */
const withinMs = 60_000;

/** Files that aren't there are passed over. @throws Error naming the file with which it didn't come to its end */
export async function scrubFiles(paths: readonly string[]): Promise<void> {
  const worker = new Worker(new URL('./scrub-worker.ts', import.meta.url), {
    workerData: { paths, withinMs },
    name: 'scrub',
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.on('error', (error) => reject(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the thread of the scrub ended: ${code}`))));
  await promise;
}
