// What tells a service to stop before it listens for that. In JavaScript that every Node can read.

import { setImmediate as turn } from 'node:timers/promises';

/** Those of src/main/signals.ts. */
const toldBy = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'];

/**
 * A container's process 1 that has no handler for a signal never gets it: one that came while its program was loaded, some half a second, was lost, and
 * after its grace period the service was killed. Any other process is ended by it, as it should be. From now on the first of them is kept, and told to whoever
 * listens for it later.
 * @param target `process`
 * @returns whether one has come by now; the loop turns before it is known
 */
export function keepSignals(target) {
  let kept = null;
  for (const name of toldBy)
    target.on(name, () => {
      if (kept !== null) return;
      kept = name;
      target.on('newListener', (event, listener) => {
        if (event === name) setImmediate(() => listener(name));
      });
    });
  return async () => {
    await turn();
    return kept !== null;
  };
}
