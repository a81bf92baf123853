// Whose fault Twilio's error codes are, by its dictionary: https://www.twilio.com/docs/api/errors, a page a code (.../errors/21635).
//
// Twilio splits its codes up further from time to time and asks not to build on them; an unknown one falls back on the HTTP status.

import type { FailureClass } from '../../domain/events.ts';

/** These pass with time whatever status they come with: too many requests, full queues, maintenance, congestion, a carrier's or the account's limit. */
export const passingTwilioCodes: ReadonlySet<number> = new Set([
  14107, 20429, 21611, 21730, 30001, 30008, 30017, 30022, 30023, 63017, 63018, 63038,
]);

/** Number: not valid, the sender's own (21266), no mobile, unsubscribed (21610), not reachable from this sender (21612), unknown, a landline. */
const recipient = [21211, 21214, 21217, 21265, 21266, 21604, 21610, 21612, 21614, 21635, 30003, 30004, 30005, 30006];

/**
 * Key or account: 10001 not active; 200xx and 204xx logins; 21408 and 21608 what the account may not send to; 21212, 21401, 216xx and 217xx senders
 * that aren't its own or can't send; 30002 suspended; 3003x senders that aren't registered with the carriers.
 */
const credentials = [
  10001, 20003, 20005, 20006, 20008, 20403, 20404, 21212, 21401, 21408, 21601, 21603, 21606, 21608, 21659, 21660, 21661,
  21701, 21703, 21704, 21705, 30002, 30032, 30034,
];

/** Of this account, but for this recipient alone: 21408 a region that isn't enabled, 21612 a number that isn't reached from this sender. */
export const unservedTwilioCodes: ReadonlySet<number> = new Set([21408, 21612]);

/** Text: missing, too long, refused by a filter. */
const content = [21602, 21605, 21617, 21619, 21620, 30007];

const classes = new Map<number, FailureClass>([
  ...recipient.map((code) => [code, 'recipient'] as const),
  ...credentials.map((code) => [code, 'credentials'] as const),
  ...content.map((code) => [code, 'content'] as const),
]);

export function classOfTwilioCode(code: number | null, status: number): FailureClass {
  const known = code === null ? undefined : classes.get(code);
  if (known !== undefined) return known;
  // 404 is an account that does not exist: the SID is part of the address.
  return status === 401 || status === 403 || status === 404 ? 'credentials' : 'content';
}
