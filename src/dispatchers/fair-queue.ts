// Turns between tenants: deficit round robin at a cost of one an item and a quantum of the tenant's weight; where all have the weight 1 a plain round.
// Every operation is O(1), but removing what was lost, and passing over those aside for whom what room there is isn't enough.
//
//   turns:   [C] -> [A] -> [D]      the head is served as many items as it weighs and goes to the end
//   parked:  {B}                    reached the head while it was held: it has its turn still, and comes back as the head when it is released
//   aside:   {E}                    reached the head while there was no room for it: the same, once there is
//
// A tenant is parked only when its turn comes and leaves the park only when it is released, so nobody is looked at twice for nothing. Those aside are looked
// at while there is some room, the longest aside first.

import type { TenantId } from '../domain/ids.ts';
import { createFifo } from './fifo.ts';
import type { Fifo } from './fifo.ts';

export interface FairQueue<T> {
  /** Items of every tenant, parked ones too. */
  readonly size: number;
  push(tenantId: TenantId, item: T): void;
  /** Before the tenant's items that aren't older: for what was taken but couldn't be begun. */
  putBack(tenantId: TenantId, item: T): void;
  /** Whether `take` would give an item now. */
  isReady(): boolean;
  /** Whether it would if there were room. */
  isWaiting(): boolean;
  /** The next item, by turns; undefined when there is none or every tenant that has one is held. */
  take(): T | undefined;
  /** To be called when a tenant may no longer be held, or has less under way. */
  release(tenantId: TenantId): void;
  removeWhere(predicate: (item: T) => boolean): void;
  /** The first item of every tenant: a step for each. */
  heads(): Iterable<T>;
}

interface Line<T> {
  readonly tenantId: TenantId;
  readonly items: Fifo<T>;
  /** Items of this turn. */
  served: number;
  next: Line<T> | null;
}

/** Whether one more may begin, which depends on the others too. */
export interface Room {
  /** There is room for those alone who have less under way than when they were put aside. */
  isFull(): boolean;
  isFor(tenantId: TenantId): boolean;
}

export interface TurnPolicy<T> {
  /** Whether a tenant's turn must be passed over for now, e.g. since it has too much in flight. */
  isHeld(tenantId: TenantId): boolean;
  /** Absent: there is always room for everybody. */
  readonly room?: Room;
  /** Items that a tenant has in a turn, a whole number from 1 on. */
  weightOf(tenantId: TenantId): number;
  /** Whether an item was pushed before another. */
  isOlder?(a: T, b: T): boolean;
}

export function createFairQueue<T>({ isHeld, room = endless, weightOf, isOlder }: TurnPolicy<T>): FairQueue<T> {
  const lines = new Map<TenantId, Line<T>>();
  const parked = new Set<Line<T>>();
  const aside = new Set<Line<T>>();
  /** Aside before the end of their turn: first of all. */
  const asideInTurn = new Set<Line<T>>();
  let head: Line<T> | null = null;
  let tail: Line<T> | null = null;
  let size = 0;

  function lineOf(tenantId: TenantId): Line<T> {
    const known = lines.get(tenantId);
    if (known !== undefined) return known;
    const line: Line<T> = { tenantId, items: createFifo<T>(isOlder), served: 0, next: null };
    lines.set(tenantId, line);
    toEnd(line);
    return line;
  }

  function toEnd(line: Line<T>): void {
    line.next = null;
    if (tail === null) head = line;
    else tail.next = line;
    tail = line;
  }

  function toFront(line: Line<T>): void {
    line.next = head;
    head = line;
    tail ??= line;
  }

  function removeHead(): Line<T> | null {
    const line = head;
    if (line === null) return null;
    head = line.next;
    if (head === null) tail = null;
    line.next = null;
    return line;
  }

  const mayBegin = ({ tenantId }: Line<T>): boolean => !isHeld(tenantId) && room.isFor(tenantId);
  const asideOf = ({ served }: Line<T>): Set<Line<T>> => (served > 0 ? asideInTurn : aside);

  /** Whose turn it is. */
  function first(): Line<T> | null {
    if (!room.isFull()) {
      for (const line of asideInTurn) if (mayBegin(line)) return line;
      // Its turn goes on: had it to wait for those aside between two of its items, they would have more turns than it.
      if (head !== null && head.served > 0 && mayBegin(head)) return head;
      for (const line of aside) if (mayBegin(line)) return line;
    }
    while (head !== null) {
      const { tenantId } = head;
      const isParked = isHeld(tenantId);
      if (!isParked && room.isFor(tenantId)) return head;
      const line = removeHead();
      if (line !== null) (isParked ? parked : asideOf(line)).add(line);
    }
    return null;
  }

  function take(): T | undefined {
    const line = first();
    if (line === null) return undefined;
    if (asideOf(line).delete(line)) toFront(line);
    const item = line.items.shift();
    size--;
    line.served++;
    const isEmpty = line.items.size === 0;
    if (!isEmpty && line.served < weightOf(line.tenantId)) return item;
    removeHead();
    line.served = 0;
    if (isEmpty) lines.delete(line.tenantId);
    else toEnd(line);
    return item;
  }

  function release(tenantId: TenantId): void {
    const line = lines.get(tenantId);
    if (line === undefined) return;
    if (parked.delete(line)) toFront(line);
    // While there is some room its turn comes by itself.
    else if (room.isFull() && room.isFor(tenantId) && asideOf(line).delete(line)) toFront(line);
  }

  function removeWhere(predicate: (item: T) => boolean): void {
    const turns: Line<T>[] = [];
    for (let line = removeHead(); line !== null; line = removeHead()) turns.push(line);
    for (const line of lines.values()) {
      size -= line.items.size;
      line.items.removeWhere(predicate);
      size += line.items.size;
    }
    for (const line of turns) if (line.items.size > 0) toEnd(line);
    for (const line of lines.values()) {
      if (line.items.size > 0) continue;
      lines.delete(line.tenantId);
      parked.delete(line);
      asideOf(line).delete(line);
    }
  }

  return {
    get size() {
      return size;
    },
    push(tenantId, item) {
      lineOf(tenantId).items.push(item);
      size++;
    },
    putBack(tenantId, item) {
      lineOf(tenantId).items.putBack(item);
      size++;
    },
    isReady: () => first() !== null,
    isWaiting: () => aside.size + asideInTurn.size > 0 || first() !== null,
    take,
    release,
    removeWhere,
    *heads() {
      for (const { items } of lines.values()) {
        const head = items.peek();
        if (head !== undefined) yield head;
      }
    },
  };
}

const endless: Room = { isFull: () => false, isFor: () => true };
