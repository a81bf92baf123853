// How much memory the process takes rather than collect garbage.

import { setFlagsFromString } from 'node:v8';

/**
 * The old generation of every isolate grows by a quarter between collections, where V8 lets it double and more: the embedded service takes
 * 260 MiB at most, and catching up with a long log takes a third more time of a core. To be called before any thread starts.
 * @param growsPercent more where a process has little that lasts
 */
export function keepHeapsSmall(growsPercent = 25): void {
  setFlagsFromString(`--heap-growing-percent=${growsPercent}`);
}
