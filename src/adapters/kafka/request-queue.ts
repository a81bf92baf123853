// Mends kafkajs' request queue from outside: it wakes every millisecond for nothing, in every connection that there is.
// kafkajs 2.2.4 arms a timer after each answer whether anything is pending or not, and what the timer calls arms the next one: about 2 % of a
// core idle, and on Node 24 a TimeoutNegativeWarning. A queue with nothing pending needs no timer: what is pushed next is sent at once or arms it.

import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';

const mended = Symbol.for('herald.kafkajs.request-queue');

/** Once for all connections of the process; safe to repeat. */
export function mendRequestQueue(): void {
  const queue: typeof RequestQueue.prototype & { [mended]?: true } = RequestQueue.prototype;
  if (queue[mended] === true) return;
  const schedule = queue.scheduleCheckPendingRequests;
  queue.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
  queue[mended] = true;
}
