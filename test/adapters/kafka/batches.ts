// Record batches as a broker has them, by kafkajs' own writer.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { RecordBatch } = require('kafkajs/src/protocol/recordBatch/v0/index.js') as {
  RecordBatch(of: object): Promise<{ buffer: Buffer }>;
};
const Record = require('kafkajs/src/protocol/recordBatch/record/v0/index.js') as (of: object) => unknown;

export interface Batch {
  readonly base: number;
  readonly time: number;
  readonly values: readonly { readonly value: Buffer | null; readonly key: Buffer | null; readonly later: number }[];
}

export async function batchOf({ base, time, values }: Batch, attributes = 0): Promise<Buffer> {
  const records = values.map(({ value, key, later }, offsetDelta) =>
    Record({ offsetDelta, timestampDelta: later, key, value, headers: { trace: 'x' } }),
  );
  const encoded = await RecordBatch({
    firstTimestamp: time,
    maxTimestamp: time + 1_000_000,
    lastOffsetDelta: values.length - 1,
    records,
  });
  const bytes = Buffer.from(encoded.buffer);
  // The broker puts these in.
  bytes.writeBigInt64BE(BigInt(base), 0);
  bytes.writeInt16BE(attributes, 21);
  return bytes;
}
