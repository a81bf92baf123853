// Lines for stderr, written one behind the other without waiting for them. What isn't taken (a full disk, a terminal that has gone, a pipe that nobody
// reads) is kept up to a limit and tried again: neither the process nor its end may hang on a line.

import { openSync, write as writeTo, writeSync } from 'node:fs';

export interface LogLines {
  write(line: string): void;
  /** Writes what waits, for a thread or a process that ends; what isn't taken stays. */
  flush(): void;
}

const stderr = 2;
/** Lines that stderr hasn't taken yet; past it they are dropped rather than memory. */
const waitingBytesMax = 8 * 1024 * 1024;
/** As many lines as come to so much are one write. */
const writeLengthMax = 16 * 1024;
const againMs = 100;
/** A pipe that is read goes on within it. */
const flushMaxMs = 1000;

/** @param to where lines go: by default stderr; a path is for tests */
export function createLogLines(to?: string): LogLines {
  const fd = to === undefined ? stderr : openSync(to, 'a');
  const waiting: (string | Buffer)[] = [];
  let waitingBytes = 0;
  let isUnderWay = false;

  const take = (): Buffer => {
    const first = waiting.shift() ?? '';
    return typeof first === 'string' ? Buffer.from(first) : first;
  };
  const note = (taken: Buffer, written: number): void => {
    waitingBytes -= written;
    if (written < taken.length) waiting.unshift(taken.subarray(written));
  };
  const writeOn = (): void => {
    const taken = take();
    isUnderWay = taken.length > 0;
    if (!isUnderWay) return;
    writeTo(fd, taken, (error, written) => {
      note(taken, error === null ? written : 0);
      if (error === null) writeOn();
      else setTimeout(writeOn, againMs).unref();
    });
  };
  const flush = (): void => {
    const until = performance.now() + flushMaxMs;
    for (let taken = take(); taken.length > 0; taken = take()) {
      const written = writtenAtOnce(fd, taken, until);
      note(taken, written);
      if (written === 0) return;
    }
  };
  process.once('exit', flush);
  return {
    write(line) {
      const bytes = Buffer.byteLength(line);
      if (waitingBytes + bytes > waitingBytesMax) return;
      waitingBytes += bytes;
      const last = waiting.at(-1);
      if (typeof last === 'string' && last.length + line.length <= writeLengthMax) waiting.splice(-1, 1, last + line);
      else waiting.push(line);
      if (!isUnderWay) writeOn();
    },
    flush,
  };
}

const sleeping = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** How many bytes; 0: it isn't to be had now. */
function writtenAtOnce(fd: number, bytes: Buffer, until: number): number {
  for (;;) {
    try {
      return writeSync(fd, bytes);
    } catch (error) {
      const isFullPipe = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      if (!isFullPipe || performance.now() > until) return 0;
      Atomics.wait(sleeping, 0, 0, againMs);
    }
  }
}
