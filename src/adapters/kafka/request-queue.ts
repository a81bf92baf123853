// Mends kafkajs' request queue from outside: every connection that there is wakes the process for nothing, every millisecond and every 100 ms.
//
// kafkajs 2.2.4 arms a timer after each answer whether anything is pending or not, and what the timer calls arms the next one: about 2 % of a core idle,
// and on Node 24 a TimeoutNegativeWarning. A queue with nothing pending needs no timer: what is pushed next is sent at once or arms it.
//
// And each connection looks for requests that have waited for too long by an interval of its own: a process of all roles has two dozen connections, so 240 times
// a second. One interval looks after all of them.
//
// It goes by a clock that isn't set: by kafkajs' own every request under way is late once the machine's time is put forward, and none is for as long as it is put back.

import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';

const mended = Symbol.for('herald.kafkajs.request-queue');

/** As often as kafkajs itself looks. */
const lookEveryMs = 100;

/** Once for all connections of the thread; safe to repeat. */
export function mendRequestQueue(): void {
  const queue: typeof RequestQueue.prototype & { [mended]?: true } = RequestQueue.prototype;
  if (queue[mended] === true) return;
  const schedule = queue.scheduleCheckPendingRequests;
  queue.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
  const overdue = createOverdueLook();
  queue.scheduleRequestTimeoutCheck = function (this: RequestQueue): void {
    if (this.enforceRequestTimeout) overdue.watch(this);
  };
  const { destroy } = queue;
  queue.destroy = function (this: RequestQueue): void {
    overdue.forget(this);
    destroy.call(this);
  };
  queue[mended] = true;
}

/** Ends requests that weren't answered in time, of all connected queues; runs while there is one. */
function createOverdueLook() {
  const watched = new Set<RequestQueue>();
  /** When it was seen first, monotonic ms: a look later at most than it was sent. */
  const seenAt = new WeakMap<object, number>();
  let timer: NodeJS.Timeout | null = null;

  const look = () => {
    const now = performance.now();
    for (const queue of watched) {
      for (const request of queue.inflight.values()) {
        const since = seenAt.get(request);
        if (since === undefined) seenAt.set(request, now);
        else if (now - since > request.requestTimeout) request.timeoutRequest();
      }
      if (!queue.isConnected()) queue.destroy();
    }
  };

  return {
    watch(queue: RequestQueue): void {
      watched.add(queue);
      timer ??= setInterval(look, lookEveryMs);
    },
    forget(queue: RequestQueue): void {
      watched.delete(queue);
      if (watched.size > 0 || timer === null) return;
      clearInterval(timer);
      timer = null;
    },
  };
}
