// Answers in flight: how many reads of a tenant run at once, and how many bytes of answers wait for their readers, per tenant and in all, so that whoever reads
// much or doesn't take what it asked for stops its own reads alone.
//
//   take a place and room ──> read and render ──> written: the place is free ──> the reader has taken it, or is gone ──> the room is given back
//        └── none within a second: 503 where all tenants' answers fill it, else 429
//
// A page takes some 10 ms of the thread. One is made in a turn of the event loop, then everybody else has theirs; tenants take turns.

import type { ServerResponse } from 'node:http';

import { DomainError, unavailable } from '../domain/errors.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Metrics } from '../ports/metrics.ts';
import { ClientGoneError } from './errors.ts';

export const answerLimits = {
  /** Eight pages of 1 MiB. */
  perTenantMax: 8 * 1024 * 1024,
  /** Eight tenants with as much. */
  perProcessMax: 64 * 1024 * 1024,
  /** A page, or sixteen records. */
  perTurnMax: 1024 * 1024,
  /** Reads of a tenant between their start and their answer's last byte being written: what is over waits for its turn. */
  perTenantAtOnceMax: 4,
  waitMs: 1000,
  /** 1 MiB by 9 KB a second. Whoever takes nothing is cut after 60 s by the server. */
  takenWithinMs: 120_000,
  /** So many reads of a tenant wait at once, 1 KiB each. */
  perTenantWaitingMax: 1000,
} as const;

export type AnswerLimits = { readonly [Name in keyof typeof answerLimits]: number };

/** A place to read, and room for the answer. */
export interface AnswerRoom {
  /** The answer is written, the place is another's: from now on it takes these bytes, until its reader has them or is gone. */
  holds(res: ServerResponse, bytes: number): void;
  /** There is no answer. */
  giveBack(): void;
}

export type AnswersInFlight = ReturnType<typeof createAnswersInFlight>;

export function createAnswersInFlight(metrics: Metrics, given: Partial<AnswerLimits> = {}) {
  const limits = { ...answerLimits, ...given };
  const held = new Map<TenantId, number>();
  /** Reads that run. */
  const running = new Map<TenantId, number>();
  let heldInAll = 0;
  /** Bytes let in since the event loop's last turn. */
  let letInNow = 0;
  let turn: NodeJS.Immediate | null = null;
  /** In the order of their turns. */
  const waiting = new Map<TenantId, Waiter[]>();
  metrics.gauge('herald_answers_bytes', () => heldInAll);

  const change = (tenantId: TenantId, bytes: number): void => {
    heldInAll += bytes;
    const ofTenant = (held.get(tenantId) ?? 0) + bytes;
    if (ofTenant === 0) held.delete(tenantId);
    else held.set(tenantId, ofTenant);
  };
  const isFull = ({ bytes }: Asked): boolean => bytes > 0 && heldInAll + bytes > limits.perProcessMax;
  const isOwnFull = ({ tenantId, bytes }: Asked): boolean =>
    bytes > 0 && (held.get(tenantId) ?? 0) + bytes > limits.perTenantMax;
  const hasPlace = ({ tenantId }: Asked): boolean => (running.get(tenantId) ?? 0) < limits.perTenantAtOnceMax;
  const hasTurn = ({ bytes }: Asked): boolean => letInNow === 0 || letInNow + bytes <= limits.perTurnMax;
  const fits = (asked: Asked): boolean => hasTurn(asked) && hasPlace(asked) && !isOwnFull(asked) && !isFull(asked);

  const letInNextTurn = (): void => {
    turn ??= setImmediate(() => {
      [turn, letInNow] = [null, 0];
      while (letInOne());
    });
  };

  /** The longest wait of the tenant whose turn it is, of those who fit: one without room holds up no other. */
  const letInOne = (): boolean => {
    for (const [tenantId, waiters] of waiting) {
      const first = firstIn(waiters);
      if (first === undefined) continue;
      leave(first);
      const others = waiting.get(tenantId);
      if (others !== undefined && waiting.delete(tenantId)) waiting.set(tenantId, others);
      first.enter(roomOf(first));
      return true;
    }
    return false;
  };

  /** The longest wait of a tenant; where there is no room for that, of those who need none. */
  const firstIn = (waiters: readonly Waiter[]): Waiter | undefined =>
    waiters.find((waiter, i) => (i === 0 || waiter.bytes === 0) && fits(waiter));

  const leave = (waiter: Waiter): void => {
    const left = (waiting.get(waiter.tenantId) ?? []).filter((one) => one !== waiter);
    if (left.length > 0) waiting.set(waiter.tenantId, left);
    else waiting.delete(waiter.tenantId);
  };

  const roomOf = ({ tenantId, bytes }: Asked): AnswerRoom => {
    let holding = bytes;
    let isRunning = true;
    change(tenantId, holding);
    running.set(tenantId, (running.get(tenantId) ?? 0) + 1);
    letInNow += bytes;
    letInNextTurn();
    const leavePlace = (): void => {
      if (!isRunning) return;
      isRunning = false;
      const others = (running.get(tenantId) ?? 1) - 1;
      if (others > 0) running.set(tenantId, others);
      else running.delete(tenantId);
    };
    const giveBack = (): void => {
      leavePlace();
      change(tenantId, -holding);
      holding = 0;
      letInNextTurn();
    };
    return {
      giveBack,
      holds(res, written) {
        leavePlace();
        letInNextTurn();
        change(tenantId, written - holding);
        holding = written;
        whenTaken(res, limits.takenWithinMs, giveBack);
      },
    };
  };

  const refusal = (asked: Asked): DomainError =>
    isFull(asked) && !isOwnFull(asked)
      ? unavailable('Too many answers wait for their readers. Try again later.', retryAfterSeconds)
      : new DomainError('TOO_MANY_REQUESTS', ownAnswersFull, { retryAfterSeconds });

  const wait = (asked: Asked, res: ServerResponse): Promise<AnswerRoom> =>
    new Promise((resolve, reject) => {
      const refuse = (error: Error): void => {
        leave(waiter);
        settled();
        reject(error);
      };
      const gone = (): void => refuse(new ClientGoneError());
      const timer = setTimeout(() => refuse(refusal(asked)), limits.waitMs);
      const settled = (): void => {
        clearTimeout(timer);
        res.off('close', gone);
      };
      const waiter: Waiter = {
        ...asked,
        enter(room) {
          settled();
          resolve(room);
        },
      };
      res.once('close', gone);
      waiting.set(asked.tenantId, [...(waiting.get(asked.tenantId) ?? []), waiter]);
      letInNextTurn();
    });

  return {
    /** A place to read, and room for an answer of at most so many bytes; 0: it is short and needs none. @throws DomainError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE; ClientGoneError */
    async take(tenantId: TenantId, bytes: number, res: ServerResponse): Promise<AnswerRoom> {
      const asked = { tenantId, bytes };
      const waiters = waiting.get(tenantId) ?? [];
      const isNext = waiters.length === 0 || (bytes === 0 && firstIn(waiters) === undefined);
      if (isNext && fits(asked)) return roomOf(asked);
      if (waiters.length >= limits.perTenantWaitingMax) throw refusal(asked);
      return wait(asked, res);
    },
  };
}

/** Calls back once the reader has the answer or is gone, which it is made to be in time; twice does no harm. */
export function whenTaken(res: ServerResponse, withinMs: number, giveBack: () => void): void {
  const cut = setTimeout(() => res.destroy(), withinMs).unref();
  const done = (): void => {
    clearTimeout(cut);
    giveBack();
  };
  // Both come; what was given back is nothing the second time.
  res.once('finish', done);
  res.once('close', done);
  if (res.closed) done();
}

export const ownAnswersFull =
  'Too many reads of this tenant at once, or 8 MiB of answers that its readers have not taken. Try again.';

const retryAfterSeconds = 1;

interface Asked {
  readonly tenantId: TenantId;
  readonly bytes: number;
}

interface Waiter extends Asked {
  enter(room: AnswerRoom): void;
}
