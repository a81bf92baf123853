// Reads records out of Kafka's record batches (message format 2), as they come in the answer to a fetch.
// kafkajs has a reader of its own, which makes some thirty objects and BigInts of each record; this one slices.

import { gunzipSync, zstdDecompressSync } from 'node:zlib';

export interface StoredRecord {
  readonly offset: number;
  /** UTC ms: when the log took it, or what the producer said, as the topic is set. */
  readonly appendedAt: number;
  /** A part of the bytes that were read; empty for a null value. */
  readonly value: Buffer;
}

export interface RecordSet {
  readonly records: readonly StoredRecord[];
  /** The offset behind the last whole batch; `from` when there was none. */
  readonly next: number;
}

/** Of what one compressed batch may become: what the broker takes as a message at most, many times over. */
const decompressedBytesMax = 64 * 1024 * 1024;

// A batch: base offset 8, length 4, | leader epoch 4, magic 1, crc 4, attributes 2, last offset delta 4, base timestamp 8, max timestamp 8,
// producer id 8, producer epoch 2, base sequence 4, records 4. The length counts what stands behind it.
const lengthAt = 8;
const lengthEnd = 12;
const magicAt = 16;
const attributesAt = 21;
const lastOffsetDeltaAt = 23;
const baseTimestampAt = 27;
const maxTimestampAt = 35;
const countAt = 57;
const recordsAt = 61;

/** Of a record without a value, in the place of an event that was gone when its log was copied: nothing is to be read there. */
export const goneKey = Buffer.from('gone');

const compressionMask = 0x07;
const logAppendTimeFlag = 0x08;
const controlFlag = 0x20;

/**
 * The records from offset `from` on; a batch that is cut off at the end of the bytes is left for the next fetch. The offsets of a partition have no gaps,
 * since its topic isn't compacted: a batch that begins beyond what is next comes from an answer to another question, and what lies between was not read.
 * @throws Error for such a batch, another message format, an unknown compression or bytes that are no batch
 */
export function readRecords(bytes: Buffer, from: number): RecordSet {
  const records: StoredRecord[] = [];
  let next = from;
  for (let at = 0; at + recordsAt <= bytes.length;) {
    const end = at + lengthEnd + bytes.readInt32BE(at + lengthAt);
    if (end < at + recordsAt) throw new Error('the log holds a record batch of an impossible length');
    if (end > bytes.length) break;
    const batch = bytes.subarray(at, end);
    const base = int64(batch, 0);
    if (base > next) throw new Error(`offset ${next} is to be read next, but what was read begins at ${base}`);
    readBatch(batch, base, from, records);
    next = Math.max(next, base + batch.readInt32BE(lastOffsetDeltaAt) + 1);
    at = end;
  }
  return { records, next };
}

function readBatch(batch: Buffer, baseOffset: number, from: number, into: StoredRecord[]): void {
  const magic = batch.readInt8(magicAt);
  if (magic !== 2) throw new Error(`the log holds a record batch of message format ${magic}; only 2 is read here`);
  const attributes = batch.readInt16BE(attributesAt);
  // Control batches are marks of transactions, which nothing here makes.
  if ((attributes & controlFlag) !== 0) return;
  const isLogAppendTime = (attributes & logAppendTimeFlag) !== 0;
  const timestamp = int64(batch, isLogAppendTime ? maxTimestampAt : baseTimestampAt);
  const cursor = { bytes: decompress(batch.subarray(recordsAt), attributes & compressionMask), at: 0 };
  for (let left = batch.readInt32BE(countAt); left > 0; left--) {
    const length = varint(cursor);
    const end = cursor.at + length;
    if (length < 0 || end > cursor.bytes.length) throw new Error('the log holds a record of an impossible length');
    cursor.at++;
    const timestampDelta = varlong(cursor);
    const offset = baseOffset + varint(cursor);
    if (offset >= from) {
      const keySize = Math.max(0, varint(cursor));
      const keyAt = cursor.at;
      cursor.at += keySize;
      const valueSize = varint(cursor);
      const isGone = valueSize < 0 && cursor.bytes.subarray(keyAt, keyAt + keySize).equals(goneKey);
      cursor.at = isGone ? end : cursor.at;
      if (isGone) continue;
      const size = Math.max(0, valueSize);
      const appendedAt = isLogAppendTime ? timestamp : timestamp + timestampDelta;
      into.push({ offset, appendedAt, value: cursor.bytes.subarray(cursor.at, cursor.at + size) });
    }
    cursor.at = end;
  }
}

function decompress(bytes: Buffer, codec: number): Buffer {
  switch (codec) {
    case 0:
      return bytes;
    case 1:
      return gunzipSync(bytes, { maxOutputLength: decompressedBytesMax });
    case 4:
      return zstdDecompressSync(bytes, { maxOutputLength: decompressedBytesMax });
    default:
      throw new Error(`the log holds records of compression ${codec}; none, gzip (1) and zstd (4) are read here`);
  }
}

interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

/** Exact up to 2^53, which no offset and no time here comes near. */
function int64(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}

function varint(cursor: Cursor): number {
  const { bytes } = cursor;
  let raw = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = bytes[cursor.at++] ?? 0;
    raw |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return (raw >>> 1) ^ -(raw & 1);
}

/** As varint, for up to 53 bits. */
function varlong(cursor: Cursor): number {
  const { bytes } = cursor;
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
