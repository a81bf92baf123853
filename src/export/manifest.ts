// What an export says of itself: manifest.json once it is complete, progress.json until then. Read back it may be anything: it is checked.

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { z } from 'zod';

import { channels, type EventType } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { columnKinds, tableNames } from './columns.ts';
import { formats } from './formats/index.ts';

export const splits = ['none', 'day', 'tenant'] as const;
export type Split = (typeof splits)[number];

/** What is wrong with an export's folder, or with what is asked of it; a sentence for a person. */
export class ExportRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ExportRefusedError';
  }
}

const whole = z.int().min(0);
const text = z.string();

const plan = {
  version: z.literal(1),
  table: z.enum(tableNames),
  format: z.enum(formats),
  split: z.enum(splits),
  filter: z.strictObject({
    tenant: text.transform((id) => id as TenantId).nullable(),
    channels: z.array(z.enum(channels)).nullable(),
    types: z.array(text.transform((type) => type as EventType)).nullable(),
  }),
  /** The times that were asked for, ISO 8601. */
  from: text.nullable(),
  to: text.nullable(),
  log: z.strictObject({ id: text, partitions: whole, shards: whole }),
  /** SHA-256 of the manifest that this export goes on from. */
  since: text.nullable(),
  begunAt: text,
  /** Up to when it knows the log (`knownUpTo`). */
  asOf: text.optional(),
  columns: z.array(z.strictObject({ name: text, kind: z.enum(columnKinds), about: text })),
  /** Offsets [from, to) of each partition, and how many events the log had of them. */
  ranges: z.array(z.strictObject({ topic: text, partition: whole, from: whole, to: whole, events: whole })),
  /** By partition number, up to where the log was read for what is erased before anything else of it was: rows hold nothing of that. */
  erasures: z.array(whole).optional(),
  rows: whole,
  files: z.array(z.strictObject({ path: text, rows: whole, bytes: whole, sha256: text })),
};

const manifestSchema = z.strictObject({ ...plan, completedAt: text });
const progressSchema = z.strictObject({
  ...plan,
  /** The number of the files that are written next, and where what they hold begins. */
  round: whole,
  next: z.strictObject({ unit: whole, at: whole }),
});

export type Manifest = z.output<typeof manifestSchema>;
export type Progress = z.output<typeof progressSchema>;
export type Range = Manifest['ranges'][number];
export type ExportedFile = Manifest['files'][number];

export const manifestFile = 'manifest.json';
export const progressFile = 'progress.json';

/** One that doesn't say it has in its rows when it was begun. */
export function asOfOf({ asOf, begunAt }: Pick<Manifest, 'asOf' | 'begunAt'>): string {
  return asOf ?? begunAt;
}

/** null: there is none. @throws ExportRefusedError when it is none of ours */
export function readManifest(folder: string): { readonly manifest: Manifest; readonly text: string } | null {
  const path = join(folder, manifestFile);
  const found = textOf(path);
  return found === null ? null : { manifest: parsed(path, found, manifestSchema), text: found };
}

export function readProgress(folder: string): Progress | null {
  const path = join(folder, progressFile);
  const found = textOf(path);
  return found === null ? null : parsed(path, found, progressSchema);
}

export function writeProgress(folder: string, progress: Progress): void {
  writeWhole(folder, progressFile, progress);
}

export function writeManifest(folder: string, manifest: Manifest): void {
  writeWhole(folder, manifestFile, manifest);
}

/** Durable when it returns: the folder's entries of it and of all that was renamed before. */
function writeWhole(folder: string, name: string, value: Manifest | Progress): void {
  const path = join(folder, name);
  writeFileSync(`${path}.tmp`, `${JSON.stringify(value, null, 2)}\n`);
  sync(`${path}.tmp`);
  renameSync(`${path}.tmp`, path);
  sync(folder);
}

/** What the disk has of it survives a power cut. */
export function sync(path: string): void {
  // Windows knows no such thing of folders.
  if (process.platform === 'win32') return;
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function textOf(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

function parsed<T>(path: string, found: string, schema: z.ZodType<T>): T {
  let json: unknown;
  try {
    json = JSON.parse(found);
  } catch {
    throw new ExportRefusedError(`${path} is no JSON: name the folder of an export.`);
  }
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const [first] = result.error.issues;
  const where = first?.path.join('.') ?? '';
  throw new ExportRefusedError(
    `${path} was not written by this version of Herald: ${where === '' ? '' : `${where}: `}${first?.message}`,
  );
}
