// The messages of an inbox's stream, and their ids: how far it has told, which is what Last-Event-ID brings back.

import { badField } from '../domain/errors.ts';
import { inboxItemIdOf } from '../domain/ids.ts';
import type { InboxMarks, InboxNews } from '../projections/inbox/queries.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { EventStream } from './event-stream.ts';
import { messageBytes } from './event-stream.ts';
import { toItem } from './handlers/inbox.ts';
import { isoTime } from './record.ts';

/** `Last-Event-ID` of a stream. @throws DomainError BAD_REQUEST */
export function parseMarks(text: string): InboxMarks {
  const match = /^(-1|\d{1,15})\.(-1|\d{1,15})$/.exec(text);
  if (match === null) throw badField('last-event-id', 'must be an id of this stream');
  return { sequence: Number(match[1]), readOffset: Number(match[2]) };
}

export function marksText({ sequence, readOffset }: InboxMarks): string {
  return `${sequence}.${readOffset}`;
}

/** How a stream begins: with an id, so that a client that is cut before anything has come goes on from here. */
export function tellBeginning(stream: EventStream, marks: InboxMarks): void {
  stream.send({ event: 'connected', id: marksText(marks), data: {} });
}

/** A message, and the marks that stand once it is told: its id. */
export interface NewsMessage {
  readonly bytes: Uint8Array;
  readonly marks: InboxMarks;
}

/** What all who stand at the same marks are told, rendered once. Whoever else is on the thread has its turn between items. */
export async function newsMessages(
  turns: ThreadTurns,
  before: InboxMarks,
  { items, reads }: InboxNews,
): Promise<readonly NewsMessage[]> {
  const messages: NewsMessage[] = [];
  let marks = before;
  const add = (event: string, data: () => unknown): void => {
    messages.push({ bytes: messageBytes({ event, id: marksText(marks), data: data() }), marks });
  };
  for (const item of items) {
    if (turns.isOver()) await turns.next();
    marks = { ...marks, sequence: item.sequence };
    turns.piece(() => add('notification', () => toItem(item)));
  }
  for (const { offset, ids, readAt } of reads) {
    if (turns.isOver()) await turns.next();
    marks = { ...marks, readOffset: offset };
    turns.piece(() => add('read', () => ({ ids: ids.map(inboxItemIdOf), readAt: isoTime(readAt) })));
  }
  return messages;
}

/** Tells as much as there is room for: the marks that it has come to, and whether that was all. */
export function tellNews(
  stream: EventStream,
  before: InboxMarks,
  messages: readonly NewsMessage[],
): { readonly marks: InboxMarks; readonly isAll: boolean } {
  let marks = before;
  for (const message of messages) {
    if (!stream.hasRoom) return { marks, isAll: false };
    stream.send(message.bytes);
    ({ marks } = message);
  }
  return { marks, isAll: true };
}
