// When a connection that has come is read for the first time. It may have 64 KiB with it, which are 20 ms of the thread where they were made to cost, and what
// comes in one turn of the event loop is read in it: 200 such connections held everybody up for 4 s.
//
//   an address' twenty at once, then one in a ms ──── one of its connections is cut for what it cost ───> one in 100 ms, for ten seconds
//                                                     and its others aren't read any more until their turn
//   the same in 20 ms, for a second, of an address whose bodies come in many pieces
//
// So who has opened a thousand before, and lets them all bring such at once, has one of them read. Nobody is refused for that alone, since an address may be
// that of many clients (a NAT, a balancer): who has a connection keeps it, and answers and streams go on; who opens one waits behind the others of the address.

const atOnceMax = 20;
const spacingMs = 1;
/** What was cut is 20 ms of the thread at most: a fifth of it then. */
const suspectSpacingMs = 100;
const suspectMs = 10_000;
/** Of bodies, whoever sends them: 20 ms of the thread at once, and an eighth of it. A backend that writes each item of its batches by itself sends 40,000 a second. */
const piecesAtOnce = 8_000;
const piecesPerSecond = 50_000;
/** A read brings 1,600 of 40 bytes, 4 ms. */
const manyPiecesSpacingMs = 20;
const manyPiecesMs = 1_000;
/** In one turn of the event loop, where timers are late. */
const startsPerTurn = 4;
/** As long as headers may take: one that would wait for longer is refused. */
const waitMaxMs = 10_000;
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
  /** Pieces that it may bring still, as of `at`. */
  pieces: number;
  manyPiecesUntil: number;
  timer: NodeJS.Timeout | null;
}

export interface SlowStarts {
  /**
   * Starts it at once, or later; what is returned is to be called when the connection has ended. null: the address has too many that wait.
   */
  open(address: string, connection: Readable): (() => void) | null;
  /** A connection of the address was cut for what it cost: it and all others of the address are stopped, and started one after another. */
  cut(address: string): void;
  /** So many more pieces of bodies have come of it. */
  came(address: string, pieces: number): void;
  /** Connections that wait to be read, of all addresses. */
  waiting(): number;
}

/** @param now monotonic ms */
export function createSlowStarts(now: () => number): SlowStarts {
  const addresses = new Map<string, Address>();

  function of(name: string): Address {
    const known = addresses.get(name);
    if (known !== undefined) return known;
    const places = { read: new Set<Readable>(), waiting: new Set<Readable>(), stopped: new Set<Readable>() };
    const address: Address = {
      ...places,
      room: atOnceMax,
      wasNew: false,
      at: now(),
      suspectUntil: 0,
      pieces: piecesAtOnce,
      manyPiecesUntil: 0,
      timer: null,
    };
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
  const spacingOf = (address: Address): number => {
    if (isSuspect(address)) return suspectSpacingMs;
    return now() < address.manyPiecesUntil ? manyPiecesSpacingMs : spacingMs;
  };

  function refill(address: Address): void {
    const at = now();
    const spacing = spacingOf(address);
    const most = spacing > spacingMs ? 1 : atOnceMax;
    address.room = Math.min(most, address.room + (at - address.at) / spacing);
    address.pieces = Math.min(piecesAtOnce, address.pieces + ((at - address.at) * piecesPerSecond) / 1000);
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

  /** @param isSlower from now on: one that is slow already keeps its turns, however often this is called */
  function stopAll(address: Address, isSlower: boolean): void {
    if (isSlower) address.room = Math.min(address.room, 0);
    for (const connection of address.read) {
      address.stopped.add(connection);
      connection.stop();
    }
    address.read.clear();
    wake(address);
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
      else if (waiting.size >= waitMaxMs / spacingOf(address)) return null;
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
      const isSlower = spacingOf(address) < suspectSpacingMs;
      address.suspectUntil = now() + suspectMs;
      stopAll(address, isSlower);
    },

    came(name, pieces) {
      const address = of(name);
      refill(address);
      address.pieces = Math.max(-piecesAtOnce, address.pieces - pieces);
      if (address.pieces >= 0) return;
      const isSlower = spacingOf(address) < manyPiecesSpacingMs;
      address.manyPiecesUntil = now() + manyPiecesMs;
      stopAll(address, isSlower);
    },

    waiting() {
      let all = 0;
      for (const { waiting, stopped } of addresses.values()) all += waiting.size + stopped.size;
      return all;
    },
  };
}
