// Reads schemas/<EventType>.v<n>.avsc: one Avro record per event type and version.

import { readdirSync, readFileSync } from 'node:fs';

export interface SchemaFile {
  readonly type: string;
  readonly version: number;
  /** The Avro schema as JSON text. */
  readonly json: string;
}

const folder = new URL('../../schemas/', import.meta.url);
const namePattern = /^([A-Za-z]+)\.v([0-9]+)\.avsc$/;

/** All versions of all types, each type's ascending. */
export function readSchemaFiles(): SchemaFile[] {
  const files: SchemaFile[] = [];
  for (const name of readdirSync(folder)) {
    const match = namePattern.exec(name);
    if (match?.[1] === undefined) continue;
    files.push({ type: match[1], version: Number(match[2]), json: readFileSync(new URL(name, folder), 'utf8') });
  }
  return files.sort((a, b) => (a.type < b.type ? -1 : 1) * Number(a.type !== b.type) || a.version - b.version);
}
