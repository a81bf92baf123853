// When a connection that has come is read for the first time. It may have 64 KiB with it, which are 20 ms of the thread where they were made to cost, and what
// comes in one turn of the event loop is read in it: 200 such connections held everybody up for 4 s.
//
//   an address' twenty at once, then one in a ms ──── one of its connections is cut for what it cost ───> one in 100 ms, for ten seconds
//
// Nobody is refused for that alone, since an address may be that of many clients (a NAT, a balancer): who has a connection goes on with it, who opens one waits
// behind the others of the address.

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

interface Address {
  /** Those that aren't read yet. */
  readonly waiting: Set<() => void>;
  /** How many may start at once, as of `at`. */
  room: number;
  at: number;
  suspectUntil: number;
  timer: NodeJS.Timeout | null;
}

export interface SlowStarts {
  /**
   * Calls `start` at once, or later unless what is returned was called; null: the address has too many that wait.
   */
  open(address: string, start: () => void): (() => void) | null;
  /** A connection of the address was cut for what it cost. */
  cut(address: string): void;
}

/** @param now monotonic ms */
export function createSlowStarts(now: () => number): SlowStarts {
  const addresses = new Map<string, Address>();

  function of(name: string): Address {
    const known = addresses.get(name);
    if (known !== undefined) return known;
    const address: Address = { waiting: new Set(), room: atOnceMax, at: now(), suspectUntil: 0, timer: null };
    addresses.set(name, address);
    if (addresses.size > addressesMax)
      for (const [oldest, { waiting }] of addresses) {
        if (waiting.size > 0) continue;
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
    address.timer = address.waiting.size === 0 ? null : setTimeout(goOn, ms, address).unref();
  }

  function goOn(address: Address): void {
    refill(address);
    let left = startsPerTurn;
    for (const start of address.waiting) {
      if (left-- === 0 || address.room < 1) break;
      address.room--;
      address.waiting.delete(start);
      start();
    }
    wake(address);
  }

  return {
    open(name, start) {
      const address = of(name);
      refill(address);
      if (address.waiting.size === 0 && address.room >= 1) {
        address.room--;
        start();
        return () => undefined;
      }
      if (isSuspect(address) && address.waiting.size >= waitingMax) return null;
      address.waiting.add(start);
      if (address.timer === null) wake(address);
      return () => void address.waiting.delete(start);
    },

    cut(name) {
      const address = of(name);
      refill(address);
      address.suspectUntil = now() + suspectMs;
      address.room = Math.min(address.room, 0);
      wake(address);
    },
  };
}
