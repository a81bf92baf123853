// A record batch of one record, in the bytes that the log's readers read; its value is the event's number in the world's log.

const lengthEnd = 12;
const recordsAt = 61;
const logAppendTime = 0x08;
const magic = 2;
/** Length, attributes, time, offset, key's length, value's length, 4 bytes of value, headers: each a byte but the value. */
const recordBytes = 11;

export function batchOf({
  offset,
  appendedAt,
  number,
}: {
  offset: number;
  appendedAt: number;
  number: number;
}): Buffer {
  const bytes = Buffer.alloc(recordsAt + recordBytes);
  writeInt64(bytes, offset, 0);
  bytes.writeInt32BE(bytes.length - lengthEnd, 8);
  bytes.writeInt8(magic, 16);
  bytes.writeInt16BE(logAppendTime, 21);
  writeInt64(bytes, appendedAt, 27);
  writeInt64(bytes, appendedAt, 35);
  bytes.writeInt32BE(1, 57);
  bytes[recordsAt] = zigzag(recordBytes - 1);
  bytes[recordsAt + 4] = zigzag(-1);
  bytes[recordsAt + 5] = zigzag(4);
  bytes.writeUInt32BE(number, recordsAt + 6);
  return bytes;
}

export function eventNumberOf(value: Buffer): number {
  return value.readUInt32BE(0);
}

/** Of a small number: one byte. */
function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

function writeInt64(bytes: Buffer, value: number, at: number): void {
  bytes.writeInt32BE(Math.floor(value / 2 ** 32), at);
  bytes.writeUInt32BE(value % 2 ** 32, at + 4);
}
