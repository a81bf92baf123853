// Tells kafkajs' errors apart: what a broker has answered, and everything else, after which its connection is not trusted any more.

/** Kafka's name of the error that a broker answered with (NOT_LEADER_FOR_PARTITION); null: no broker answered. */
export function answeredError(error: unknown): string | null {
  for (const cause of causesOf(error)) {
    const type: unknown = Reflect.get(cause, 'type');
    if (typeof type === 'string') return type;
  }
  return null;
}

/** An error and what caused it: kafkajs wraps errors in errors when it gives up; four deep at most. */
export function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let cause = error; causes.length < 4 && cause instanceof Error; { cause } = cause) causes.push(cause);
  return causes;
}

/** Codes after which it is asked who leads the partition: moved, not known yet, being elected, behind. */
const staleMetadataCodes: ReadonlyMap<number, string> = new Map([
  [3, 'UNKNOWN_TOPIC_OR_PARTITION'],
  [5, 'LEADER_NOT_AVAILABLE'],
  [6, 'NOT_LEADER_OR_FOLLOWER'],
  [8, 'BROKER_NOT_AVAILABLE'],
  [9, 'REPLICA_NOT_AVAILABLE'],
  [56, 'KAFKA_STORAGE_ERROR'],
  [74, 'FENCED_LEADER_EPOCH'],
  [75, 'UNKNOWN_LEADER_EPOCH'],
  [78, 'OFFSET_NOT_AVAILABLE'],
  [103, 'INCONSISTENT_TOPIC_ID'],
]);

export const offsetOutOfRange = 1;

/** The partition doesn't hold the offset: it was deleted, or the log is another one. */
export class OffsetOutOfRangeError extends Error {
  constructor(place: string) {
    super(`${place} does not hold the offset that is to be read next: it was deleted, or the log is another one`);
    this.name = 'OffsetOutOfRangeError';
  }
}

export function isStaleMetadata(code: number): boolean {
  return staleMetadataCodes.has(code);
}

export function describeFetchError(code: number, of?: { readonly topic: string; readonly partition: number }): Error {
  const place = of === undefined ? 'the log' : `${of.topic}, partition ${of.partition}`;
  if (code === offsetOutOfRange) return new OffsetOutOfRangeError(place);
  return new Error(`${place} can not be read: ${staleMetadataCodes.get(code) ?? `Kafka's error ${code}`}`);
}
