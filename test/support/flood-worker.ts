// The entry of the thread that makes a tenant's flood and answers its webhooks.

import { parentPort, workerData } from 'node:worker_threads';

import type { FloodOf, FloodPost, FromFlood } from './flood.ts';
import { startHttpSink } from './http-sink.ts';
import { createPoster } from './posting.ts';

const { sinkMs, arrived } = workerData as FloodOf;
const tell = (message: FromFlood) => parentPort?.postMessage(message);
const count = new Int32Array(arrived);

const sink = await startHttpSink({
  respond(_, response) {
    sink.requests.length = 0;
    Atomics.add(count, 0, 1);
    setTimeout(() => response.end(), sinkMs).unref();
  },
});
parentPort?.once('message', (post: FloodPost) => {
  void postAll(post);
});
tell('ready');

async function postAll({ url, apiKey, notification, count: wanted }: FloodPost): Promise<void> {
  const poster = createPoster();
  await poster.postMany({ url, apiKey }, { ...notification, recipient: sink.url }, wanted);
  await poster.close();
  tell('posted');
}
