// What a broker's error code says about the records of one partition (Kafka protocol, error codes).

export type ProduceMeaning =
  | { readonly kind: 'written' }
  /** Sent again to whoever leads then. */
  | { readonly kind: 'again'; readonly mayBeWritten: boolean; readonly reason: string }
  /** The broker doesn't know the sequence that it was sent with: sent again under another epoch. */
  | { readonly kind: 'outOfStep'; readonly reason: string }
  /** As one batch; one by one they may fit. */
  | { readonly kind: 'tooLarge'; readonly reason: string }
  /** However often it is sent. */
  | { readonly kind: 'refused'; readonly reason: string };

const written: ProduceMeaning = { kind: 'written' };
const tooLargeReason = 'the event is larger than the topic takes (max.message.bytes)';

/** Nothing was written, and it may work later or elsewhere. */
const notWritten = new Map([
  [2, 'the batch was damaged on its way'],
  [5, 'the partition has no leader'],
  [9, 'the replica is not there'],
  [19, 'too few replicas are in sync'],
  [74, 'the leader has changed'],
  [75, 'the leader has changed'],
  [89, 'the broker throttles'],
]);

/**
 * Of 3, 6 and 56 nobody can tell which it was: a leader says them at once, and as well of a batch that it has written and that waits for its replicas when
 * another broker is made the leader, which may have it (Kafka's DelayedProduce).
 */
const mayBeWritten = new Map([
  [-1, 'the broker failed'],
  [3, 'the broker does not know the partition'],
  [6, 'another broker leads the partition'],
  [7, 'the replicas did not answer in time'],
  [13, 'the broker closed the connection'],
  [20, 'too few replicas were in sync after it was written'],
  [56, "the broker's disk fails"],
]);

const outOfStep = new Map([
  [45, 'the broker has not what came before'],
  [46, 'the broker has what came later'],
  [47, 'the broker has a later epoch of this process'],
  [59, 'the broker has forgotten this process'],
]);

const tooLarge = new Set([10, 18]);

const refused = new Map([
  [17, 'the broker has no such topic'],
  [29, 'the user may not write to the topic'],
  [31, 'the user may not write to the cluster'],
  [87, 'the topic does not take such records (cleanup.policy must be delete)'],
]);

const meanings = new Map<number, ProduceMeaning>([
  [0, written],
  ...[...notWritten].map(([code, reason]) => [code, { kind: 'again', mayBeWritten: false, reason }] as const),
  ...[...mayBeWritten].map(([code, reason]) => [code, { kind: 'again', mayBeWritten: true, reason }] as const),
  ...[...outOfStep].map(([code, reason]) => [code, { kind: 'outOfStep', reason }] as const),
  ...[...tooLarge].map((code) => [code, { kind: 'tooLarge', reason: tooLargeReason }] as const),
  ...[...refused].map(([code, reason]) => [code, { kind: 'refused', reason }] as const),
]);

/** A code that isn't known is tried again: the deadline ends it. */
export function meaningOf(code: number): ProduceMeaning {
  return meanings.get(code) ?? { kind: 'again', mayBeWritten: true, reason: `the broker answered with error ${code}` };
}
