// Whether a change that the stream tells is of a notification that the list can't have read yet.

import type { Change } from '../../wire.ts';

/**
 * Its request isn't told where what became of it was told before: then one that was made later than the first one of the list is new, whatever its status is.
 * @param first the id of that; undefined: the list is empty
 */
export function isOfOneMore({ notificationId, status }: Change, first: string | undefined): boolean {
  return status === 'QUEUED' || status === 'SCHEDULED' || first === undefined || notificationId > first;
}
