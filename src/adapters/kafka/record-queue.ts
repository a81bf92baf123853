// Records of one partition that wait to be taken, first in, first out.

import type { StoredRecord } from './record-batch.ts';

export interface RecordQueue {
  readonly head: StoredRecord | undefined;
  push(records: readonly StoredRecord[]): { readonly events: number; readonly bytes: number };
  shift(): StoredRecord | undefined;
}

/** Taken places at the front before the rest moves up. */
const emptyMax = 256;

export function createRecordQueue(): RecordQueue {
  const waiting: (StoredRecord | undefined)[] = [];
  let at = 0;

  return {
    get head() {
      return waiting[at];
    },

    push(records) {
      let bytes = 0;
      for (const { value } of records) bytes += value.length;
      for (const record of records) waiting.push(keepsTooMuch(record, bytes) ? copyOf(record) : record);
      return { events: records.length, bytes };
    },

    shift() {
      const record = waiting[at];
      if (record === undefined) return undefined;
      waiting[at++] = undefined;
      if (at === waiting.length) waiting.length = at = 0;
      else if (at >= emptyMax) {
        waiting.splice(0, at);
        at = 0;
      }
      return record;
    },
  };
}

/** A value is a part of the whole answer that it came in; while it waits, all of that stays in memory. */
function keepsTooMuch({ value }: StoredRecord, keptBytes: number): boolean {
  return value.buffer.byteLength > 2 * keptBytes + 1024;
}

function copyOf(record: StoredRecord): StoredRecord {
  return { ...record, value: Buffer.from(record.value) };
}
