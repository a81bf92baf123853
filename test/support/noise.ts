// A tenant's noise made by a thread of its own: whoever measures another tenant beside it is another client, whose thread does nothing else.

import { Worker } from 'node:worker_threads';

import type { Worst } from './worst-tenant.ts';

export interface NoiseOf {
  readonly name: string;
  readonly worst: Worst;
}

export type FromNoise = 'begun' | 'over';

/** Resolves once it has begun, with the call that ends it. Rejects, as that call does, when it fails. */
export async function makeNoise(of: NoiseOf): Promise<() => Promise<void>> {
  const thread = new Worker(new URL('./noise-worker.ts', import.meta.url), { workerData: of });
  const said = { begun: Promise.withResolvers<void>(), over: Promise.withResolvers<void>() };
  const all = Object.values(said);
  thread.on('message', (message: FromNoise) => said[message].resolve());
  thread.on('error', (error) => all.forEach(({ reject }) => reject(error)));
  thread.on('exit', (code) => all.forEach(({ reject }) => reject(new Error(`the noise ended with code ${code}`))));
  said.over.promise.catch(() => undefined);
  await said.begun.promise;
  return async () => {
    thread.postMessage('stop');
    await said.over.promise;
    await thread.terminate();
  };
}
