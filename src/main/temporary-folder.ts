// A folder among the system's temporary ones that goes with the process, however that ends but by kill -9: what is laid aside there holds what was sent.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryFolder {
  readonly path: string;
  /** Removes it before. */
  close(): void;
}

/** A signal ends a process without a word to it: whoever opens one has the process exit by signals (signals.ts). */
export function openTemporaryFolder(prefix: string): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), prefix));
  const remove = () => rmSync(path, { recursive: true, force: true });
  process.once('exit', remove);
  return {
    path,
    close() {
      process.off('exit', remove);
      remove();
    },
  };
}
