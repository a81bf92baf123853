// A folder with read models as of a moment, and what says of what they are: as-of.json, written once all is folded. Without it the folder holds nothing that counts.
//
//   DIR/views.db     the read models
//   DIR/as-of.json   the moment, the log and where it is cut, what folded them

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { settingsTopic } from '../domain/topics.ts';
import type { ReadModelDefinition } from '../ports/read-model-store.ts';
import type { Cut } from './cut-log.ts';

/** A folder that can't be used as it was asked for: a sentence for whoever asked. */
export class LookBackRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LookBackRefusedError';
  }
}

export interface KeptFold {
  /** UTC ms. */
  readonly asOf: number;
  /** The id of the log. */
  readonly log: string;
  readonly cut: Cut;
  /** Up to where it knows what is erased: see erased-since.ts. */
  readonly erasures: readonly number[];
  /** Of the Herald that folded it. */
  readonly version: string;
  readonly definitions: readonly ReadModelDefinition[];
}

const format = 1;
const noteFile = 'as-of.json';
/** The lock of whoever folds stands beside them. */
const ownFiles = /^(?:as-of\.json(?:\.draft)?|(?:views|lock)\.db(?:-wal|-shm|-journal)?|lock\.pid)$/;

export const viewsIn = (folder: string): string => join(folder, 'views.db');

/** null: there is no fold in it that came to its end. @throws LookBackRefusedError when its note can't be read */
export function readKept(folder: string): KeptFold | null {
  const path = join(folder, noteFile);
  if (!existsSync(path)) return null;
  const note = parsed(path);
  if (note === null || note.format !== format)
    throw new LookBackRefusedError(`${path} is not what a look-back of this version of Herald has written.`);
  const { asOf, log, cut, version, definitions } = note;
  // One that doesn't say knows those of its moment.
  const { erasures = cut[settingsTopic] ?? [] } = note;
  return { asOf: Date.parse(asOf), log, cut: new Map(Object.entries(cut)), erasures, version, definitions };
}

/** The last thing that is done. */
export function writeKept(folder: string, { asOf, log, cut, erasures, version, definitions }: KeptFold): void {
  const note: Note = {
    format,
    asOf: new Date(asOf).toISOString(),
    log,
    version,
    fold: foldVersionOf(definitions),
    cut: Object.fromEntries(cut),
    erasures,
    definitions,
  };
  const draft = join(folder, `${noteFile}.draft`);
  writeFileSync(draft, `${JSON.stringify(note, null, 1)}\n`, { mode: 0o600 });
  renameSync(draft, join(folder, noteFile));
}

/** Removes what a fold that didn't come to its end has left. @throws LookBackRefusedError when something else is in there */
export function clearFolder(folder: string): void {
  const other = readdirSync(folder).find((name) => !ownFiles.test(name));
  if (other !== undefined)
    throw new LookBackRefusedError(
      `${folder} holds other files (${other}): name a folder of its own for the look-back.`,
    );
  for (const name of readdirSync(folder)) if (name.startsWith('views.db')) rmSync(join(folder, name));
}

/** @throws LookBackRefusedError unless it is of this moment, this log and this version's folds */
export function checkKept(
  folder: string,
  kept: KeptFold,
  asked: Pick<KeptFold, 'asOf' | 'log' | 'version' | 'definitions'>,
): void {
  const at = (time: number) => new Date(time).toISOString();
  if (kept.asOf !== asked.asOf)
    throw new LookBackRefusedError(
      `${folder} holds what was as of ${at(kept.asOf)}, not as of ${at(asked.asOf)}: name another folder, or that time.`,
    );
  if (kept.log !== asked.log)
    throw new LookBackRefusedError(`${folder} was folded from another log (${kept.log}) than this one (${asked.log}).`);
  const isOtherFold = foldVersionOf(kept.definitions) !== foldVersionOf(asked.definitions);
  if (kept.version !== asked.version || isOtherFold)
    throw new LookBackRefusedError(
      `${folder} was folded by Herald ${kept.version}${kept.version === asked.version ? ' with other read models' : ''}, and this is ${asked.version}: its folds may say something else. Fold it anew into another folder; "herald compare --with ${folder}" says what differs.`,
    );
}

/** A fold that gives other documents has another name for its read model, or other collections. */
function foldVersionOf(definitions: readonly ReadModelDefinition[]): string {
  return createHash('sha256').update(JSON.stringify(definitions)).digest('hex').slice(0, 16);
}

interface Note extends Omit<KeptFold, 'asOf' | 'cut' | 'erasures'> {
  readonly format: typeof format;
  /** ISO 8601. */
  readonly asOf: string;
  readonly cut: Readonly<Record<string, readonly number[]>>;
  readonly erasures?: readonly number[];
  /** A short form of the definitions. */
  readonly fold: string;
}

function parsed(path: string): Note | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Note;
  } catch {
    return null;
  }
}
