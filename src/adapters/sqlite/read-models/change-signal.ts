// Tells readers in another thread that a read model has moved: counters in shared memory, and a message only when the
// reader waits for one.
//
//   writer: counter += 1;  armed 1 -> 0 ? post a message
//   reader: on a message: armed = 1, then compare the counters with those seen
//
// Armed before the counters are read: a commit in between is either seen in them or posts again, so no change is lost
// and a fast writer costs one message per turn of the reader's event loop.

import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** One end, to be handed to a thread in workerData with `port` in the transfer list. */
export interface ChangeSignalEnd {
  readonly readModels: readonly string[];
  readonly buffer: SharedArrayBuffer;
  readonly port: MessagePort;
}

export interface ChangeSignal {
  readonly writer: ChangeSignalEnd;
  readonly reader: ChangeSignalEnd;
}

/** @param readModels all whose changes are told of; of others the reader hears nothing */
export function createChangeSignal(readModels: readonly string[]): ChangeSignal {
  const buffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * (1 + readModels.length));
  const { port1, port2 } = new MessageChannel();
  return { writer: { readModels, buffer, port: port1 }, reader: { readModels, buffer, port: port2 } };
}

const armed = 0;
const firstCounter = 1;

export function tellChanges(end: ChangeSignalEnd): (readModel: string) => void {
  const shared = new Int32Array(end.buffer);
  end.port.unref();
  return (readModel) => {
    const i = end.readModels.indexOf(readModel);
    if (i === -1) return;
    Atomics.add(shared, firstCounter + i, 1);
    if (Atomics.exchange(shared, armed, 0) === 1) end.port.postMessage(null);
  };
}

/** Calls back with each read model that has moved. Returns the call that ends it. */
export function hearChanges(end: ChangeSignalEnd, changed: (readModel: string) => void): () => void {
  const shared = new Int32Array(end.buffer);
  const counters = () => end.readModels.map((_, i) => Atomics.load(shared, firstCounter + i));
  let seen = counters();
  const look = () => {
    Atomics.store(shared, armed, 1);
    const before = seen;
    seen = counters();
    end.readModels.forEach((readModel, i) => {
      if (seen[i] !== before[i]) changed(readModel);
    });
  };
  end.port.on('message', look);
  // A signal keeps no process alive.
  end.port.unref();
  look();
  return () => {
    Atomics.store(shared, armed, 0);
    end.port.off('message', look);
  };
}
