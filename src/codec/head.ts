// What every event begins with: its id, when it occurred, whose it is. Read from the bytes alone, for a small part of what decoding them takes.
//
//   Avro datum:   length, eventId | occurredAt | length, tenantId | ...        numbers are zigzag, 7 bits a byte, the least first

import avro from 'avsc';

export interface Head {
  readonly eventId: string;
  /** UTC ms. */
  readonly occurredAt: number;
  readonly tenantId: string;
}

/** Of every schema that there ever is, in this order. */
const headFields = ['eventId string', 'occurredAt long', 'tenantId string'];

export function hasHead(schema: avro.Type): boolean {
  const fields = schema instanceof avro.types.RecordType ? schema.fields : [];
  return headFields.every((field, i) => field === `${fields[i]?.name} ${fields[i]?.type.typeName}`);
}

/** null: the bytes end before it does. */
export function readHead(bytes: Buffer): Head | null {
  const cursor = { at: 0 };
  const eventId = text(bytes, cursor);
  const occurredAt = number(bytes, cursor);
  const tenantId = text(bytes, cursor);
  return eventId === null || tenantId === null ? null : { eventId, occurredAt, tenantId };
}

/**
 * The same in SQL, which counts from 1: a text, or NULL where the head has another form than ours have, with a UUID and a time of 6 bytes.
 * @param bytes the name of a column
 */
export function tenantIdInSql(bytes: string): string {
  const [eventIdLength, tenantIdLength] = [36, 30];
  const length = 1 + eventIdLength + 6 + 1;
  const isAt = (at: number, textLength: number) => `substr(${bytes}, ${at}, 1) = x'${(2 * textLength).toString(16)}'`;
  const isOurs = `${isAt(1, eventIdLength)} AND ${isAt(length, tenantIdLength)}`;
  return `CASE WHEN ${isOurs} THEN CAST(substr(${bytes}, ${length + 1}, ${tenantIdLength}) AS TEXT) END`;
}

interface Cursor {
  at: number;
}

function text(bytes: Buffer, cursor: Cursor): string | null {
  const length = number(bytes, cursor);
  const { at } = cursor;
  if (length < 0 || at + length > bytes.length) return null;
  cursor.at += length;
  return bytes.toString('utf8', at, at + length);
}

/** Beyond the end there are zeros. */
function number(bytes: Buffer, cursor: Cursor): number {
  let raw = 0;
  let unit = 1;
  for (let n = 0; n < 10; n++) {
    const byte = bytes[cursor.at++] ?? 0;
    raw += (byte & 0x7f) * unit;
    if (byte < 0x80) break;
    unit *= 128;
  }
  return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2;
}
