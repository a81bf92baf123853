// What is said when a reader of the log finds that it begins later by now than what was to be read next. Either adapter says the same.

import type { ConsumeOptions } from './event-log.ts';
import type { Logger } from './logger.ts';

/** @param of.offset what was to be read next. @param of.start where the log begins */
export function sayDeleted(
  logger: Logger,
  deleted: ConsumeOptions['deleted'],
  of: { readonly offset: number; readonly start: number } & Readonly<Record<string, unknown>>,
): void {
  if (deleted !== 'over') logger.error('what was to be read next is deleted; going on from the start', of);
  // From its beginning, wherever that is: nobody expected what was before it.
  else if (of.offset === 0) logger.debug('the log begins later by now; read from its start', of);
  else logger.warn('what was to be read next has ended and is trimmed; going on from the start', of);
}
