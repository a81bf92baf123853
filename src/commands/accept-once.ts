// Accepts a notification under an Idempotency-Key: for 24 h whoever asks for the same with the same key gets the same notification.
//
//   prepare ──> reserve the key ──> append ──> settle ──> 202
//     │           │ it is held: in the log ──> the same answer; under way ──> wait, or 409; its process ended ──> look for it, or append it
//     └ refused: its key has made a notification ──> the same answer; else that refusal, which is this request's alone
//
// The key is reserved before the append, with the id and the time that the event will have. So whoever finds a reservation whose process ended first looks for
// that notification in the records, which then have all that the log has, and appends it only if it isn't there.
//
// The id follows from the key and its day: where the store has lost the key, the record is found by the id, and what was appended twice all the same is one
// notification for read models and receivers.

import { DomainError, unavailable } from '../domain/errors.ts';
import type { AskedFor, Digest } from '../domain/idempotency.ts';
import { contentText, hashText, idOfKey, keyLifetimeMs } from '../domain/idempotency.ts';
import type { BatchId, NotificationId, TenantId } from '../domain/ids.ts';
import { clocksDifferMs, leaseLeftMs } from '../domain/lease.ts';
import type { RateLimit } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-log.ts';
import type { IdempotencyStore, KeyEntry } from '../ports/idempotency-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import type { Accepted, appendNotification, NotificationInput, prepareNotification } from './accept-notification.ts';
import type { Prepared } from './accept-notification.ts';
import { notAppended } from './accept-notification.ts';
import type { Refused } from './prepare-items.ts';

/** A notification that is in the records already. */
export interface Recorded {
  readonly notificationId: NotificationId;
  readonly requestedAt: number;
  readonly batchId: BatchId | null;
  /** A position from which on the records have it. */
  readonly position: Position;
  /** null: too large a record was cut, it can't be said any more. */
  readonly askedFor: AskedFor | null;
}

export interface Records {
  /** The newest of these. */
  find(tenantId: TenantId, ids: readonly NotificationId[]): Promise<Recorded | null>;
  /** The same once the records have all that the log has now. @throws DomainError SERVICE_UNAVAILABLE when they haven't for long */
  findSurely(place: NotificationInput, id: NotificationId): Promise<Recorded | null>;
}

export interface AcceptOnceDependencies {
  readonly prepare: ReturnType<typeof prepareNotification>;
  readonly append: ReturnType<typeof appendNotification>;
  readonly keys: IdempotencyStore;
  readonly records: Records;
  readonly digest: Digest;
  readonly limiter: Pick<RateLimiter, 'take'>;
  /** Of keys that a tenant begins: each is kept for 24 h. */
  readonly keyLimit: RateLimit;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

export interface KeyedInput {
  readonly input: NotificationInput;
  readonly key: string;
  readonly batchId: BatchId | null;
  /** How it is made ready, where it isn't rendered as a request is. */
  readonly prepare?: (input: NotificationInput) => Promise<Prepared>;
}

export interface AcceptedOnce extends Accepted {
  /** It was accepted before. */
  readonly isReplayed: boolean;
  /** The batch that it was accepted with; null: none, or it isn't known. */
  readonly batchId: BatchId | null;
}

/** Longer than an append can take (Kafka's gives up after 15 s), with as much again for a process that sleeps. */
const leaseMs = 30_000;
/** So long a request waits for another one of its key that is under way. */
const waitMaxMs = 2000;
const lookEveryMs = 50;

type Under = KeyedInput & { readonly keyHash: string };

/** @throws DomainError BAD_REQUEST, NO_PROVIDER_CONFIGURED, IDEMPOTENCY_KEY_REUSED, CONFLICT, TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE */
export function acceptOnce(deps: AcceptOnceDependencies) {
  const { prepare, append, keys, records, digest, limiter, keyLimit, clock, logger } = deps;
  /** Of this process. */
  const underWay = new Map<string, { readonly content: string; readonly accepted: Promise<AcceptedOnce> }>();

  const hashOf = (text: string): string => hashText(text, digest);
  const fingerprintOf = (input: NotificationInput, requestedAt: number): string =>
    hashOf(contentText(askedForIn(input), requestedAt));
  const settle = async (entry: KeyEntry): Promise<void> => {
    // It is in the log: whoever finds the key unsettled finds the notification in the records.
    await keys.settle(entry).catch((err: unknown) => logger.warn('an idempotency key was not settled', { err }));
  };

  /** One that begins, and is given back when it is one too many: what is repeated counts nothing. @throws DomainError TOO_MANY_REQUESTS */
  const count = async (entry: KeyEntry): Promise<void> => {
    const { allowed, resetMs } = await limiter.take(`keys:${entry.tenantId}`, keyLimit);
    if (allowed) return;
    await keys.release(entry).catch(() => undefined);
    throw tooManyKeys(keyLimit, resetMs);
  };

  const appendUnder = async (prepared: Prepared, entry: KeyEntry): Promise<AcceptedOnce> => {
    const { notificationId, requestedAt, batchId, leaseUntil } = entry;
    // A process that slept: somebody else may have taken it over.
    if ((leaseUntil ?? 0) <= clock.now())
      throw unavailable('Nothing was accepted: this took too long. Send the request again.');
    const result = await append(prepared, { notificationId, requestedAt, batchId });
    if (result.kind === 'durable') {
      await settle({ ...entry, leaseUntil: null, position: result.position });
      return { notificationId, position: result.position, isReplayed: false, batchId };
    }
    if (result.kind === 'refused') await keys.release(entry).catch(() => undefined);
    throw notAppended(result.kind, 'Repeat it with the same Idempotency-Key: it is sent once.');
  };

  /** What the records have of the key, where the store has not. */
  const lost = async ({ input, keyHash }: Under, now: number): Promise<Recorded | null> => {
    // Yesterday's, today's, and tomorrow's where it is tomorrow by another process' clock.
    const times = [now + clocksDifferMs, now, now - keyLifetimeMs];
    const ids = [...new Set(times.map((time) => idOfKey(keyHash, time, digest)))];
    // Accepting doesn't wait for records that are folded anew.
    const found = await records.find(input.tenantId, ids).catch(() => null);
    return found !== null && found.requestedAt > now - keyLifetimeMs ? found : null;
  };

  const entryOf = ({ input, keyHash }: Under, found: Recorded): KeyEntry => ({
    tenantId: input.tenantId,
    keyHash,
    fingerprint:
      found.askedFor === null
        ? fingerprintOf(input, found.requestedAt)
        : hashOf(contentText(found.askedFor, found.requestedAt)),
    notificationId: found.notificationId,
    batchId: found.batchId,
    requestedAt: found.requestedAt,
    leaseUntil: null,
    position: found.position,
  });

  /** null: it isn't known to be in the log. @throws DomainError IDEMPOTENCY_KEY_REUSED */
  const replayed = ({ input }: Under, entry: KeyEntry): AcceptedOnce | null => {
    if (fingerprintOf(input, entry.requestedAt) !== entry.fingerprint) throw keyReused();
    const { notificationId, position, batchId, leaseUntil } = entry;
    return leaseUntil === null && position !== null ? { notificationId, position, isReplayed: true, batchId } : null;
  };

  /** @throws DomainError IDEMPOTENCY_KEY_REUSED */
  const settledBy = async (under: Under, found: Recorded): Promise<AcceptedOnce> => {
    const entry = entryOf(under, found);
    await settle(entry);
    replayed(under, entry);
    const { notificationId, position, batchId } = found;
    return { notificationId, position, isReplayed: true, batchId };
  };

  /**
   * Somebody else has taken the key: null when he gave it back.
   * @param prepared asked for where it is to be appended once more; what it throws, the call rejects with
   */
  const follow = async (under: Under, prepared: () => Prepared, taken: KeyEntry): Promise<AcceptedOnce | null> => {
    const { input, batchId } = under;
    const until = clock.monotonic() + waitMaxMs;
    for (let held: KeyEntry | null = taken; held !== null; held = await keys.find(held, clock.now())) {
      const same = replayed(under, held);
      if (same !== null) return same;
      const found = await records.find(input.tenantId, [held.notificationId]).catch(() => null);
      if (found !== null) return settledBy(under, found);
      const now = clock.now();
      const leftMs = leaseLeftMs(held.leaseUntil, now, leaseMs);
      if (leftMs === 0) {
        // Whoever took it, of a store that had lost it, may not have come to look for what was accepted before.
        const appended = (await records.findSurely(input, held.notificationId)) ?? (await lost(under, now));
        if (appended !== null) return settledBy(under, appended);
        const ready = prepared();
        const leaseUntil = now + leaseMs;
        if (await keys.takeOver(held, leaseUntil)) return appendUnder(ready, { ...held, leaseUntil, batchId });
      }
      if (clock.monotonic() >= until) throw stillUnderWay(leftMs);
      await clock.sleep(lookEveryMs);
    }
    return null;
  };

  /** What was accepted once is answered once more, whatever became of its template or provider. @throws why it can't be made ready */
  const followRefused = async (under: Under, { error }: Refused): Promise<AcceptedOnce> => {
    const rethrow = (): never => {
      throw error;
    };
    const place = { tenantId: under.input.tenantId, keyHash: under.keyHash };
    const taken = error instanceof DomainError ? await keys.find(place, clock.now()) : null;
    return (taken === null ? null : await follow(under, rethrow, taken)) ?? rethrow();
  };

  const lead = async (under: Under, prepared: Prepared): Promise<AcceptedOnce> => {
    const { input, keyHash, batchId } = under;
    for (;;) {
      const now = clock.now();
      const entry: KeyEntry = {
        tenantId: input.tenantId,
        keyHash,
        fingerprint: fingerprintOf(input, now),
        notificationId: idOfKey(keyHash, now, digest),
        batchId,
        requestedAt: now,
        leaseUntil: now + leaseMs,
        position: null,
      };
      const held = await keys.reserve(entry, now);
      if (held === null) {
        const before = await lost(under, now);
        if (before !== null) return settledBy(under, before);
        await count(entry);
        return appendUnder(prepared, entry);
      }
      const followed = await follow(under, () => prepared, held);
      if (followed !== null) return followed;
    }
  };

  return async (keyed: KeyedInput): Promise<AcceptedOnce> => {
    const { input, key } = keyed;
    const keyHash = hashOf(`key\n${input.tenantId}\n${key}`);
    const under = { ...keyed, keyHash };
    const content = contentText(askedForIn(input), 0);
    // Each for itself: what `strict` refuses, or a template of before, another one of the same key may be accepted with.
    const prepared = await (keyed.prepare ?? prepare)(input).catch((error: unknown): Refused => ({
      kind: 'refused',
      error,
    }));
    for (;;) {
      const other = underWay.get(keyHash);
      if (other === undefined) break;
      if (other.content === content) return { ...(await other.accepted), isReplayed: true };
      await other.accepted.catch(() => undefined);
    }
    if ('kind' in prepared) return followRefused(under, prepared);
    const accepted = lead(under, prepared).finally(() => underWay.delete(keyHash));
    underWay.set(keyHash, { content, accepted });
    return accepted;
  };
}

/** Every field of a request that makes a notification another one has a part in it (`strict` only refuses): one that is added doesn't compile until it has. */
function askedForIn(given: NotificationInput): AskedFor {
  const { tenantId: _, trace: _2, data: _3, strict: _4, ...input } = given;
  const { channel, recipient, priority, template, subject, body, dataText, metadata, sendAt, expiry, ...more } = input;
  const { replyTo, cc, bcc, transactional, resendOf, ...none } = more;
  const asked = { channel, recipient, priority, template, subject, body, data: dataText, metadata, sendAt, expiry };
  return { ...asked, replyTo, cc, bcc, transactional, resendOf, ...(none satisfies Record<string, never>) };
}

function keyReused(): DomainError {
  return new DomainError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key was used for another request within 24 h: repeat that request as it was, or send this one with another key.',
  );
}

function tooManyKeys({ limit, windowMs }: RateLimit, resetMs: number): DomainError {
  const retryAfterSeconds = Math.max(1, Math.ceil(resetMs / 1000));
  return new DomainError(
    'TOO_MANY_REQUESTS',
    `The limit of idempotency keys is reached: ${limit} new ones in ${windowMs / 1000} s. Send it without a key, or again in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  );
}

function stillUnderWay(leftMs: number): DomainError {
  const retryAfterSeconds = Math.min(Math.max(Math.ceil(leftMs / 1000), 1), leaseMs / 1000);
  return new DomainError(
    'CONFLICT',
    `A request with this Idempotency-Key is under way. Try again in ${retryAfterSeconds} s.`,
    {
      retryAfterSeconds,
    },
  );
}
