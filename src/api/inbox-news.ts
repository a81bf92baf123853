// The messages of an inbox's stream, and their ids: how far it has told, which is what Last-Event-ID brings back.

import { badField } from '../domain/errors.ts';
import { inboxItemIdOf } from '../domain/ids.ts';
import type { InboxMarks, InboxNews } from '../projections/inbox/queries.ts';
import type { EventStream } from './event-stream.ts';
import { toItem } from './handlers/inbox.ts';
import { isoTime } from './record.ts';

/** `Last-Event-ID` of a stream. @throws DomainError BAD_REQUEST */
export function parseMarks(text: string): InboxMarks {
  const match = /^(-1|\d{1,15})\.(-1|\d{1,15})$/.exec(text);
  if (match === null) throw badField('last-event-id', 'must be an id of this stream');
  return { sequence: Number(match[1]), readOffset: Number(match[2]) };
}

function marksText({ sequence, readOffset }: InboxMarks): string {
  return `${sequence}.${readOffset}`;
}

/** How a stream begins: with an id, so that a client that is cut before anything has come goes on from here. */
export function tellBeginning(stream: EventStream, marks: InboxMarks): void {
  stream.send({ event: 'connected', id: marksText(marks), data: {} });
}

/** Tells as much as there is room for; each message carries the marks that stand once it is told. */
export function tellNews(
  stream: EventStream,
  before: InboxMarks,
  { items, reads }: InboxNews,
): { readonly marks: InboxMarks; readonly isAll: boolean } {
  let marks = before;
  for (const item of items) {
    if (!stream.hasRoom) return { marks, isAll: false };
    marks = { ...marks, sequence: item.sequence };
    stream.send({ event: 'notification', id: marksText(marks), data: toItem(item) });
  }
  for (const { offset, ids, readAt } of reads) {
    if (!stream.hasRoom) return { marks, isAll: false };
    marks = { ...marks, readOffset: offset };
    const data = { ids: ids.map(inboxItemIdOf), readAt: isoTime(readAt) };
    stream.send({ event: 'read', id: marksText(marks), data });
  }
  return { marks, isAll: true };
}
