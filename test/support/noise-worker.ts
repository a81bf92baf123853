// The entry of the thread that makes a tenant's noise.

import { parentPort, workerData } from 'node:worker_threads';

import type { FromNoise, NoiseOf } from './noise.ts';
import { noises } from './worst-tenant.ts';

const { name, worst } = workerData as NoiseOf;
const tell = (message: FromNoise) => parentPort?.postMessage(message);

const begin = noises[name];
if (begin === undefined) throw new Error(`there is no noise ${name}`);
const end = await begin(worst);
parentPort?.once('message', () => {
  void end().then(() => tell('over'));
});
tell('begun');
