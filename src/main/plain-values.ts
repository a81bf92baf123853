// Looks for values in files as they may be written there: to prove that somebody is forgotten, and to say where he isn't.

import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface Found {
  readonly path: string;
  /** In which spellings, each once. */
  readonly spellings: readonly string[];
}

interface Form {
  readonly spelling: string;
  readonly bytes: Buffer;
}

/** So much of a file is in memory at a time. */
const chunkBytes = 1024 * 1024;
/** Their bytes are packed: what is in them can't be found so. */
const packed = /\.(?:parquet|gz|zst)$/;

/** Files below the folders, subfolders too. `unread`: those whose content is packed. */
export async function findInFiles(
  folders: readonly string[],
  values: readonly string[],
): Promise<{ readonly found: readonly Found[]; readonly searched: number; readonly unread: readonly string[] }> {
  const forms = values.flatMap(formsOf);
  const found: Found[] = [];
  const unread: string[] = [];
  let searched = 0;
  for (const folder of folders) {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      if (packed.test(path)) {
        unread.push(path);
        continue;
      }
      searched++;
      const spellings = await spellingsIn(path, forms);
      if (spellings.length > 0) found.push({ path, spellings });
    }
  }
  return { found, searched, unread };
}

/** Plain, as JSON escapes it, in a URL, in a mail's quoted-printable, in UTF-16, and in base64 wherever in a group of three bytes it begins. */
function formsOf(value: string): readonly Form[] {
  const escaped = value.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const quotedPrintable = [...Buffer.from(value)].map(quoted).join('');
  const spelled: readonly (readonly [string, string])[] = [
    ['UTF-8', value],
    ['JSON', escaped],
    ['URL', encodeURIComponent(value)],
    ['quoted-printable', quotedPrintable],
  ];
  const texts = new Map(spelled.map(([spelling, text]) => [text, spelling]).toReversed() as [string, string][]);
  return [
    ...[...texts].map(([text, spelling]) => ({ spelling, bytes: Buffer.from(text) })),
    { spelling: 'UTF-16', bytes: Buffer.from(value, 'utf16le') },
    ...[0, 1, 2].map((before) => ({ spelling: 'base64', bytes: inBase64(value, before) })),
  ];
}

async function spellingsIn(path: string, forms: readonly Form[]): Promise<string[]> {
  const overlap = Math.max(...forms.map(({ bytes }) => bytes.length)) - 1;
  const spellings = new Set<string>();
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes })) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    for (const form of forms) if (bytes.includes(form.bytes)) spellings.add(form.spelling);
    rest = bytes.subarray(Math.max(0, bytes.length - overlap));
  }
  return [...spellings];
}

/** The characters that don't depend on what stands before and behind it. */
function inBase64(value: string, before: number): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
  const whole = bytes.length - (bytes.length % 3);
  return Buffer.from(bytes.subarray(before === 0 ? 0 : 3, whole).toString('base64'));
}

function quoted(byte: number): string {
  const isPlain = byte > 0x20 && byte < 0x7f && byte !== 0x3d;
  return isPlain ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
