// The Confluent wire format: a zero, the schema's id (32 bits, big endian), the bare Avro datum.

const headerBytes = 5;

export interface WireValue {
  readonly schemaId: number;
  readonly datum: Buffer;
}

export function headerOf(schemaId: number): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeInt32BE(schemaId, 1);
  return header;
}

/** null: not in wire format. */
export function parseWire(value: Buffer): WireValue | null {
  if (value.length < headerBytes || value[0] !== 0) return null;
  return { schemaId: value.readInt32BE(1), datum: value.subarray(headerBytes) };
}
