// What didn't decode when it was read, and what can be done about it now: an upgrade may have taught the codec, a restore the disk.
//
// A dead letter names the place of its bytes, and the log keeps them there: they are read once more. What decodes now is appended again, behind all that has
// happened since, for whoever has passed over it: folds merge in any order. Nothing marks that it was: an event of that id behind its place says so, so a replay
// may be asked for twice, or be cut short.

import type { DeadLettered, DomainEvent, SuppressionEvent } from '../domain/events.ts';
import { allTopics, deadLettersTopic } from '../domain/topics.ts';
import type { Topic } from '../domain/topics.ts';
import type { EventLog, LogEntry, Position } from '../ports/event-log.ts';
import type { ReadableLog } from '../projections/rebuild-pass.ts';

export type LetterState =
  /** It still doesn't decode. */
  | { readonly kind: 'undecodable'; readonly reason: string }
  /** The log has nothing at its place: it was copied from elsewhere. */
  | { readonly kind: 'gone' }
  /** It decodes, and nothing has taken its place. */
  | { readonly kind: 'readable'; readonly event: DomainEvent }
  /** It was appended once more, there. */
  | { readonly kind: 'replayed'; readonly event: DomainEvent; readonly at: Position }
  /** A later change of the same recipient's suppression stands: in its old place it would count for less, at the end for more. */
  | { readonly kind: 'overtaken'; readonly event: DomainEvent; readonly at: Position };

/** Each once, by partition and in the order in which they were found. */
export async function* deadLetters(log: ReadableLog): AsyncIterable<DeadLettered> {
  const ends = await log.ends(deadLettersTopic);
  for (const [partition, to] of ends.entries()) {
    const seen = new Set<string>();
    for await (const { event } of log.read({ topic: deadLettersTopic, partition, from: 0, to })) {
      if (event?.type !== 'DeadLettered' || seen.has(event.eventId)) continue;
      seen.add(event.eventId);
      yield event;
    }
  }
}

/** Reads its partition from its place to the end. */
export async function stateOf(log: ReadableLog, letter: DeadLettered): Promise<LetterState> {
  const { partition, offset } = letter;
  const topic = topicOf(letter);
  if (topic === null) return { kind: 'gone' };
  const entry = await entryAt(log, { topic, partition, offset });
  if (entry === null) return { kind: 'gone' };
  const { event, undecodable } = entry;
  if (event === null) return { kind: 'undecodable', reason: undecodable?.reason ?? letter.reason };
  const to = (await log.ends(topic, [partition]))[partition] ?? 0;
  for await (const later of log.read({ topic, partition, from: offset + 1, to })) {
    const at = { topic, partition, offset: later.offset };
    if (later.head?.eventId === event.eventId) return { kind: 'replayed', event, at };
    if (isSuppression(event) && later.head?.tenantId === event.tenantId && isOfSameRecipient(event, later))
      return { kind: 'overtaken', event, at };
  }
  return { kind: 'readable', event };
}

/** Where it stands now. @throws Error when the log doesn't take it, or doesn't say: it may be replayed again then */
export async function replay(log: Pick<EventLog, 'append'>, event: DomainEvent): Promise<Position> {
  const result = await log.append(event);
  if (result.kind === 'durable') return result.position;
  throw new Error(`the event was not appended (${result.kind}): ${result.reason}`);
}

function topicOf({ topic }: DeadLettered): Topic | null {
  return allTopics.find((one) => one === topic) ?? null;
}

async function entryAt(log: ReadableLog, { topic, partition, offset }: Position): Promise<LogEntry | null> {
  for await (const entry of log.read({ topic, partition, from: offset, to: offset + 1 })) return entry;
  return null;
}

function isSuppression(event: DomainEvent): event is SuppressionEvent {
  return event.type === 'RecipientSuppressed' || event.type === 'RecipientReleased';
}

function isOfSameRecipient({ channel, recipient }: SuppressionEvent, { event }: LogEntry): boolean {
  return event !== null && isSuppression(event) && event.channel === channel && event.recipient === recipient;
}
