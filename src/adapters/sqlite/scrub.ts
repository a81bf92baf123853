// Overwrites what the files hold and no row does: free pages, and former pages in the logs of writes. In a thread of its own, by connections that wait for
// nobody, so that whoever writes a file waits for a step of a few ms at most.

import { Worker } from 'node:worker_threads';

/** Of all files: a checkpoint comes to its end once no reader is in the midst of anything. */
const withinMs = 60_000;

/** One scrub at a time: whoever asks meanwhile has its own afterwards, since what it is for may stand where that one has passed. */
export function createScrub(paths: readonly string[]): (signal: AbortSignal) => Promise<void> {
  let before: Promise<void> = Promise.resolve();
  return (signal) => {
    const own = before.then(() => scrubFiles(paths, signal));
    before = own.catch(() => undefined);
    return own;
  };
}

/** Files that aren't there are passed over. @throws Error naming the file with which it didn't come to its end */
async function scrubFiles(paths: readonly string[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const worker = new Worker(new URL('./scrub-worker.ts', import.meta.url), {
    workerData: { paths, withinMs },
    name: 'scrub',
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.on('error', (error) => reject(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the thread of the scrub ended: ${code}`))));
  const end = () => void worker.terminate();
  signal.addEventListener('abort', end);
  await promise.finally(() => signal.removeEventListener('abort', end));
}
