// What an event's bytes were when they were appended, in 32 bits: a bit that the disk has turned since is found before anybody acts on it.

import { crc32 } from 'node:zlib';

import type { SchemaIds } from './catalog.ts';

/** Of the bytes and of what says how they are read. 0.3 us for 500 bytes, of the 4 us that an event takes to write. */
export function checksumOf({ type, schema }: SchemaIds, bytes: Uint8Array): number {
  return crc32(bytes, ((type << 16) ^ schema) >>> 0);
}

/** @param stored null: appended before there were checksums */
export function isWhole(ids: SchemaIds, bytes: Uint8Array, stored: number | null): boolean {
  return stored === null || stored === checksumOf(ids, bytes);
}
