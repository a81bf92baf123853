// Request ids: a random prefix of the process and a counter, unique and cheap.

import type { Clock } from '../ports/clock.ts';

/** `req_` and 20 characters; a process makes 36^8 of them before one comes again. */
export function createRequestIds(clock: Pick<Clock, 'randomBytes'>): () => string {
  const prefix = `req_${Buffer.from(clock.randomBytes(6)).toString('hex')}`;
  let counter = 0;
  return () => {
    counter = counter + 1 < counterMax ? counter + 1 : 0;
    return prefix + (counter + counterMax).toString(36).slice(1);
  };
}

const counterMax = 36 ** 8;
