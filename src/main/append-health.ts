// Whether the log takes what is appended: by the last append of this process, and by the log's own word where nothing was appended lately.

import type { UpOrWhy } from '../api/operations.ts';
import type { Clock } from '../ports/clock.ts';
import type { AppendResult, EventLog } from '../ports/event-log.ts';
import type { NoteAppend } from './count-appends.ts';
import { noteAppends } from './count-appends.ts';

/** A process that is unready gets no requests, and so no append tells whether it works again: then the log is asked. */
const failureTellsMs = 30_000;

export function followAppends(
  log: EventLog,
  clock: Clock,
  noteToo: NoteAppend,
): { readonly log: EventLog; isUp(): Promise<UpOrWhy> } {
  let failure: { readonly reason: string; readonly at: number } | null = null;

  const note = (result: AppendResult): void => {
    noteToo(result);
    if (result.kind === 'durable') failure = null;
    else if (result.isEverywhere !== true) failure = { reason: result.reason, at: clock.monotonic() };
  };

  return {
    log: noteAppends(log, note),
    async isUp() {
      if (!(await log.ready())) return failure === null ? false : failure.reason;
      return failure === null || clock.monotonic() - failure.at >= failureTellsMs ? true : failure.reason;
    },
  };
}
