// The main thread as a thread of the service sees it: answered, and told what it should know.

import { parentPort } from 'node:worker_threads';

import type { MetricsRegistry } from '../adapters/node/metrics.ts';
import type { FromThread, ToThread } from './service-thread.ts';

export interface MainThread<Told> {
  started(): void;
  failed(error: Error): void;
  tell(told: Told): void;
  /** Tells what `look` answers whenever it is another than before; else, of a thread at rest, that its event loop turns. */
  tellChanges(look: () => Told | Promise<Told>): void;
}

const lookEveryMs = 1000;

/** @param stop finishes what is in hand; never rejects */
export function toMainThread<Told>(of: {
  readonly metrics: Pick<MetricsRegistry, 'snapshot'>;
  stop(): Promise<void>;
}): MainThread<Told> {
  const looks: NodeJS.Timeout[] = [];
  const post = (message: FromThread<Told>) => parentPort?.postMessage(message);
  const tell = (told: Told) => post({ kind: 'told', told });

  const stop = async () => {
    for (const look of looks) clearInterval(look);
    await of.stop();
    post({ kind: 'stopped' });
  };

  parentPort?.on('message', (message: ToThread) => {
    if (message.kind === 'stop') void stop();
    else void of.metrics.snapshot().then((snapshot) => post({ kind: 'metrics', id: message.id, snapshot }));
  });

  return {
    started: () => post({ kind: 'started' }),
    failed: (error) => post({ kind: 'failed', error: new Error(error.message) }),
    tell,
    tellChanges(look) {
      let before = '';
      const lookNow = async () => {
        const told = await look();
        const text = JSON.stringify(told);
        post(text === before ? { kind: 'beat' } : { kind: 'told', told });
        before = text;
      };
      looks.push(setInterval(() => void lookNow(), lookEveryMs));
    },
  };
}
