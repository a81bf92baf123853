// How a command appends: durable, or a refusal that says whether the event may be in the log all the same.

import { unavailable } from '../domain/errors.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { EventLog, Position } from '../ports/event-log.ts';

/**
 * @param what the subject of the sentences that refuse, e.g. `The cancel`
 * @throws DomainError SERVICE_UNAVAILABLE when the event isn't known to be durable
 */
export async function appendDurably(
  log: Pick<EventLog, 'append'>,
  event: DomainEvent,
  what: string,
): Promise<Position> {
  const result = await log.append(event);
  if (result.kind === 'durable') return result.position;
  if (result.kind === 'refused')
    throw unavailable(`${what} was not accepted: the event log takes nothing at the moment. Send the request again.`);
  throw unavailable(
    `${what} may have been accepted all the same: the event log did not answer. Look before you send the request again.`,
  );
}
