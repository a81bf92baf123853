// What a backup is made of, and its manifest: written last, so that a folder without one is no whole backup.

import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { z } from 'zod';

import { openCopySource } from '../adapters/sqlite/event-log/copy-source.ts';
import { StartError } from './start-error.ts';

/** Of DATA_DIR. The read models fold themselves anew; the secrets are kept apart from what they seal. */
export const backedUp = ['log.db', 'settings.db'] as const;

const manifestSchema = z.object({
  format: z.literal(1),
  madeAt: z.iso.datetime(),
  /** Events by topic. */
  events: z.record(z.string(), z.int()),
  files: z.record(z.enum(backedUp), z.object({ bytes: z.int(), sha256: z.string() })),
});

export type BackupManifest = z.infer<typeof manifestSchema>;

const manifestName = 'backup.json';

/** Opens what was copied, counts its events, and says so in the manifest. @throws Error when events are missing in a file */
export async function writeManifest(folder: string, madeAt: Date): Promise<BackupManifest> {
  const files = {
    'log.db': await fileOf(join(folder, 'log.db')),
    'settings.db': await fileOf(join(folder, 'settings.db')),
  };
  const events = await eventsOf(join(folder, 'log.db'));
  const manifest: BackupManifest = { format: 1, madeAt: madeAt.toISOString(), events, files };
  writeFileSync(join(folder, manifestName), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
  return manifest;
}

/** @throws StartError when the folder is no whole backup, or a file isn't what was backed up */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const manifest = manifestSchema.safeParse(jsonAt(join(folder, manifestName)));
  if (!manifest.success)
    throw new StartError(`${folder} is no whole backup: it has no ${manifestName} of this version.`);
  for (const name of backedUp) {
    const path = join(folder, name);
    const found = await fileOf(path).catch(() => null);
    if (found?.sha256 !== manifest.data.files[name].sha256)
      throw new StartError(
        `${path} is not the file that was backed up: its hash is another than ${manifestName} says.`,
      );
  }
  return manifest.data;
}

export function eventCount({ events }: BackupManifest): number {
  return Object.values(events).reduce((sum, count) => sum + count, 0);
}

async function fileOf(path: string) {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  return { bytes: statSync(path).size, sha256: hash.digest('hex') };
}

/** By topic; offsets without a gap are counted. */
async function eventsOf(path: string): Promise<Record<string, number>> {
  const source = openCopySource(path);
  try {
    const counts: Record<string, number> = {};
    for (const topic of source.topics) counts[topic] = (await source.ends(topic)).reduce((sum, end) => sum + end, 0);
    return counts;
  } finally {
    source.close();
  }
}

function jsonAt(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
