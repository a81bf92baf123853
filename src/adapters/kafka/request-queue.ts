// Mends kafkajs' request queue from outside: every connection that there is wakes the process for nothing, every millisecond and every 100 ms.
//
// kafkajs 2.2.4 arms a timer after each answer whether anything is pending or not, and what the timer calls arms the next one: about 2 % of a core idle,
// and on Node 24 a TimeoutNegativeWarning. A queue with nothing pending needs no timer: what is pushed next is sent at once or arms it.
//
// And each connection looks for requests that have waited for too long by an interval of its own: a process of all roles has two dozen connections, so 240 times
// a second. One interval looks after all of them.
//
// It goes by a clock that isn't set: by kafkajs' own every request under way is late once the machine's time is put forward, and none is for as long as it is put back.
// What a broker throttles waits by it as well: by kafkajs' own for as long as the time was put back. And kafkajs sets no end to waiting for being sent.

import RequestQueue, { type QueuedRequest } from 'kafkajs/src/network/requestQueue/index.js';

const mended = Symbol.for('herald.kafkajs.request-queue');

/** As often as kafkajs itself looks: for what is late, and at most for what may be sent by now. */
const lookEveryMs = 100;
const sendLookMs = 10;

/** Once for all connections of the thread; safe to repeat. */
export function mendRequestQueue(): void {
  const queue: typeof RequestQueue.prototype & { [mended]?: true } = RequestQueue.prototype;
  if (queue[mended] === true) return;
  queue.maybeThrottle = function (this: RequestQueue, throttleMs: number | null): void {
    this.throttledUntil = Math.max(this.throttledUntil, performance.now() + (throttleMs ?? 0));
  };
  queue.canSendSocketRequestImmediately = function (this: RequestQueue): boolean {
    const { maxInFlightRequests, inflight, throttledUntil } = this;
    return inflight.size < (maxInFlightRequests ?? Infinity) && throttledUntil <= performance.now();
  };
  queue.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
    const waitMs = Math.max(this.throttledUntil - performance.now(), sendLookMs);
    this.throttleCheckTimeoutId = setTimeout(() => {
      this.throttleCheckTimeoutId = null;
      this.checkPendingRequests();
    }, waitMs);
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

/** Ends requests that weren't sent or answered in time, of all connected queues; runs while there is one. */
function createOverdueLook() {
  const watched = new Set<RequestQueue>();
  /** When it was seen first, monotonic ms: a look later at most than it was to be sent, or was sent. */
  const pendingSince = new WeakMap<object, number>();
  const sentSince = new WeakMap<object, number>();
  let timer: NodeJS.Timeout | null = null;

  const look = () => {
    const now = performance.now();
    const isLate = (since: WeakMap<object, number>) => (request: QueuedRequest) => {
      const seenAt = since.get(request) ?? now;
      since.set(request, seenAt);
      return now - seenAt > request.requestTimeout;
    };
    for (const queue of watched) {
      const late = queue.pending.filter(isLate(pendingSince));
      // First of all: the end of one sends what is pending.
      queue.pending = queue.pending.filter((request) => !late.includes(request));
      late.push(...[...queue.inflight.values()].filter(isLate(sentSince)));
      for (const request of late) request.timeoutRequest();
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
