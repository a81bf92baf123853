// A tenant's flood, and the receiver that it goes to, in a thread of their own: whoever measures another tenant beside it is another client, whose thread
// neither makes the flood's batches nor answers its webhooks.

import { Worker } from 'node:worker_threads';

export interface FloodOf {
  /** How long its receiver takes to answer. */
  readonly sinkMs: number;
  /** How many have arrived at it: an Int32Array of one. */
  readonly arrived: SharedArrayBuffer;
}

/** Posts so many of the notification to its receiver, in batches. */
export interface FloodPost {
  readonly url: string;
  readonly apiKey: string;
  readonly notification: object;
  readonly count: number;
}

export type FromFlood = 'ready' | 'posted';

export interface Flood {
  /** Of its webhooks have arrived so far. */
  arrived(): number;
  /** Resolves when all are accepted. To be called once. @throws Error when one isn't */
  post(of: FloodPost): Promise<void>;
  close(): Promise<void>;
}

export async function startFlood({ sinkMs }: Pick<FloodOf, 'sinkMs'>): Promise<Flood> {
  const arrived = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const count = new Int32Array(arrived);
  const workerData: FloodOf = { sinkMs, arrived };
  const thread = new Worker(new URL('./flood-worker.ts', import.meta.url), { workerData });
  const said = { ready: Promise.withResolvers<void>(), posted: Promise.withResolvers<void>() };
  const all = Object.values(said);
  thread.on('message', (message: FromFlood) => said[message].resolve());
  thread.on('error', (error) => all.forEach(({ reject }) => reject(error)));
  thread.on('exit', (code) => all.forEach(({ reject }) => reject(new Error(`the flood ended with code ${code}`))));
  said.posted.promise.catch(() => undefined);
  await said.ready.promise;
  return {
    arrived: () => Atomics.load(count, 0),
    async post(of) {
      thread.postMessage(of);
      await said.posted.promise;
    },
    async close() {
      await thread.terminate();
    },
  };
}
