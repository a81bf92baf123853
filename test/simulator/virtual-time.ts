// Time that stands still while code runs and jumps to the next thing that is due: an event loop of the simulator's own, the same for the same calls.

export interface VirtualTime {
  /** ms since the beginning; what a turn of an event loop takes counts, too. */
  readonly now: number;
  /** Things that happened. */
  readonly steps: number;
  /** Of the times at which they happened, in their order: equal for equal runs. */
  readonly digest: number;
  after(ms: number, run: () => void): Pending;
  /** Lets things happen until it is over, nothing is left to happen, or so much time has gone by. */
  run(isOver: () => boolean, untilMs: number): Promise<'over' | 'late'>;
}

export interface Pending {
  cancel(): void;
}

interface Due extends Pending {
  readonly at: number;
  readonly order: number;
  run: (() => void) | null;
}

/** The machine's own: between two of its calls all that promises have set off is done. */
const realTurn = globalThis.setImmediate;
/** Callbacks of one real turn. */
const stepsPerTurn = 64;

export function createVirtualTime(): VirtualTime {
  const heap: Due[] = [];
  let now = 0;
  let order = 0;
  let steps = 0;
  let digest = 0;

  function after(ms: number, run: () => void): Pending {
    const due: Due = {
      at: now + ms,
      order: order++,
      run,
      cancel() {
        due.run = null;
      },
    };
    push(heap, due);
    return due;
  }

  function step(): void {
    const due = pop(heap);
    if (due?.run == null) return;
    now = Math.max(now, due.at);
    steps++;
    digest = (Math.imul(digest, 31) + Math.round(now * 1000)) | 0;
    due.run();
  }

  return {
    get now() {
      return now;
    },
    get steps() {
      return steps;
    },
    get digest() {
      return digest;
    },
    after,
    run: (isOver, untilMs) =>
      new Promise((resolve) => {
        let left = 0;
        let hasEnded = false;
        const turn = () => {
          left--;
          if (!hasEnded) {
            const next = heap[0];
            if (isOver()) end('over');
            else if (next === undefined || next.at > untilMs) end('late');
            else step();
          }
          if (left === 0 && !hasEnded) more();
        };
        const more = () => {
          for (left = 0; left < stepsPerTurn; left++) realTurn(turn);
        };
        const end = (how: 'over' | 'late') => {
          hasEnded = true;
          resolve(how);
        };
        more();
      }),
  };
}

/**
 * From now on a turn of the event loop (setImmediate) is one of the virtual time: callbacks come in the order in which they were asked for, and each takes
 * a little time. Returns the call that ends it.
 */
export function turnsBy(time: VirtualTime, turnMs: () => number): () => void {
  let last = 0;
  globalThis.setImmediate = ((run: (...args: unknown[]) => void, ...args: unknown[]) => {
    last = Math.max(last, time.now + turnMs());
    return time.after(last - time.now, () => run(...args));
  }) as unknown as typeof setImmediate;
  return () => {
    globalThis.setImmediate = realTurn;
  };
}

function isBefore(a: Due, b: Due): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push(heap: Due[], due: Due): void {
  let at = heap.length;
  heap.push(due);
  while (at > 0) {
    const above = (at - 1) >>> 1;
    const parent = heap[above] as Due;
    if (!isBefore(due, parent)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = due;
}

function pop(heap: Due[]): Due | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Due, heap[child] as Due)) child++;
    if (!isBefore(heap[child] as Due, last)) break;
    heap[at] = heap[child] as Due;
    at = child;
  }
  heap[at] = last;
  return first;
}
