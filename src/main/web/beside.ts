// Builds the pages for browsers in a process of its own, beside the service, whose threads go on.

import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { root } from './build.ts';

/**
 * Resolves when it has ended, however: what it has built is where the store finds it. In here the bundler's loading would hold up the main thread, and
 * compressing the threads that files are read by. It takes some 0.6 s of a processor once for each state of the sources, at the usual priority: at a lower one
 * a busy machine would let whoever asks for a page wait for minutes.
 * @param closing when it aborts, the build ends
 */
export function buildBeside(closing: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, 'bin/build-web.js')], {
      stdio: 'ignore',
      // None of the service's secrets; it needs nothing else either.
      env: {},
      signal: closing,
    });
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
}
