// When a connection that has come is read for the first time. It may have 64 KiB with it, which are 20 ms of the thread where they were made to cost, and what
// comes in one turn of the event loop is read in it: 200 such connections held everybody up for 4 s.
//
//   an address' twenty at once, then one in a ms ──── one of its connections is cut for what it cost ───> one in 100 ms, for ten seconds
//                                                     and its others aren't read any more until their turn
//
// So who has opened a thousand before, and lets them all bring such at once, has one of them read. Nobody is refused for that alone, since an address may be
// that of many clients (a NAT, a balancer): who has a connection keeps it, and answers and streams go on; who opens one waits behind the others of the address.

const atOnceMax = 20;
const spacingMs = 1;
/** What was cut is 20 ms of the thread at most: a fifth of it then. */
const suspectSpacingMs = 100;
const suspectMs = 10_000;
/** In one turn of the event loop, where timers are late. */
const startsPerTurn = 4;
/** As long as headers may take: one that would wait for longer is refused. */
const waitingMax = 10_000 / suspectSpacingMs;
/** Some 200 bytes each. */
const addressesMax = 10_000;

/** Whether it is read. */
export interface Readable {
  start(): void;
  stop(): void;
}

interface Address {
  readonly read: Set<Readable>;
  /** Those that aren't read yet. */
  readonly waiting: Set<Readable>;
  /** Those that were read, and are not since one was cut. */
  readonly stopped: Set<Readable>;
  /** How many may start at once, as of `at`. */
  room: number;
  /** Whether the last one that was started hadn't been read before. */
  wasNew: boolean;
  at: number;
  suspectUntil: number;
  timer: NodeJS.Timeout | null;
}

export interface SlowStarts {
  /**
   * Starts it at once, or later; what is returned is to be called when the connection has ended. null: the address has too many that wait.
   */
  open(address: string, connection: Readable): (() => void) | null;
  /** A connection of the address was cut for what it cost: it and all others of the address are stopped, and started one after another. */
  cut(address: string): void;
}

/** @param now monotonic ms */
export function createSlowStarts(now: () => number): SlowStarts {
  const addresses = new Map<string, Address>();

  function of(name: string): Address {
    const known = addresses.get(name);
    if (known !== undefined) return known;
    const places = { read: new Set<Readable>(), waiting: new Set<Readable>(), stopped: new Set<Readable>() };
    const address: Address = { ...places, room: atOnceMax, wasNew: false, at: now(), suspectUntil: 0, timer: null };
    addresses.set(name, address);
    if (addresses.size > addressesMax)
      for (const [oldest, { read, waiting, stopped }] of addresses) {
        if (read.size + waiting.size + stopped.size > 0) continue;
        addresses.delete(oldest);
        break;
      }
    return address;
  }

  const isSuspect = ({ suspectUntil }: Address): boolean => now() < suspectUntil;
  const spacingOf = (address: Address): number => (isSuspect(address) ? suspectSpacingMs : spacingMs);

  function refill(address: Address): void {
    const at = now();
    const most = isSuspect(address) ? 1 : atOnceMax;
    address.room = Math.min(most, address.room + (at - address.at) / spacingOf(address));
    address.at = at;
  }

  function wake(address: Address): void {
    if (address.timer !== null) clearTimeout(address.timer);
    const ms = Math.max(1, Math.ceil((1 - address.room) * spacingOf(address)));
    const isDone = address.waiting.size + address.stopped.size === 0;
    address.timer = isDone ? null : setTimeout(goOn, ms, address).unref();
  }

  function start(address: Address, connection: Readable): void {
    address.room--;
    address.read.add(connection);
    connection.start();
  }

  /** Of those that wait and of those that were stopped one each. */
  function goOn(address: Address): void {
    refill(address);
    const { waiting, stopped } = address;
    for (let left = startsPerTurn; left > 0 && address.room >= 1 && waiting.size + stopped.size > 0; left--) {
      const isNew = stopped.size === 0 || (waiting.size > 0 && !address.wasNew);
      address.wasNew = isNew;
      const from = isNew ? waiting : stopped;
      const [next] = from;
      if (next === undefined) break;
      from.delete(next);
      start(address, next);
    }
    wake(address);
  }

  return {
    open(name, connection) {
      const address = of(name);
      const { read, waiting, stopped } = address;
      refill(address);
      if (waiting.size + stopped.size === 0 && address.room >= 1) start(address, connection);
      else if (isSuspect(address) && waiting.size >= waitingMax) return null;
      else {
        waiting.add(connection);
        if (address.timer === null) wake(address);
      }
      return () => {
        for (const set of [read, waiting, stopped]) set.delete(connection);
      };
    },

    cut(name) {
      const address = of(name);
      refill(address);
      address.suspectUntil = now() + suspectMs;
      address.room = Math.min(address.room, 0);
      for (const connection of address.read) {
        address.stopped.add(connection);
        connection.stop();
      }
      address.read.clear();
      wake(address);
    },
  };
}
