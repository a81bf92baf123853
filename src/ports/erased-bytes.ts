// The bytes of what is erased, on engines whose files can be written again. Where they can't (a log on brokers) they end with the log's retention.

import type { Position } from './event-log.ts';

export interface ErasedBytes {
  /**
   * Puts events as they are shown in the place of what was appended, the offsets as they were; an event that doesn't decode leaves nothing. Durable when it
   * resolves; the same once more changes nothing. @throws Error when it can't be written
   */
  overwrite(positions: readonly Position[]): Promise<void>;
  /** Takes events of an erased tenant away, their offsets are gaps. Durable when it resolves; the same once more changes nothing. @throws Error when it can't be written */
  remove(positions: readonly Position[]): Promise<void>;
  /**
   * Overwrites what no row holds any more: free pages and the logs of former writes, in all files of the engines, in small steps beside whoever writes them.
   * One at a time. @throws Error when that doesn't come to its end within a minute, or is ended by the signal: may be asked again
   */
  scrub(signal: AbortSignal): Promise<void>;
}
