// Looks for values in files as they may be written there: to prove that somebody is forgotten, and to say where he isn't.

import type { Dirent } from 'node:fs';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface Sought {
  readonly text: string;
  /** Whether upper and lower case are the same: in base64 it is looked for as it is given. */
  readonly inAnyCase: boolean;
}

export interface Found {
  readonly path: string;
  /** In which spellings, each once. */
  readonly spellings: readonly string[];
}

export interface Searched {
  readonly found: readonly Found[];
  /** So many files were looked through. */
  readonly searched: number;
  /** Those that could not be, folders too, and why: what a person reads behind the path. */
  readonly unread: readonly { readonly path: string; readonly why: string }[];
  /** What was not looked for. */
  readonly tooShort: readonly string[];
}

interface Form {
  readonly spelling: string;
  readonly bytes: Buffer;
  readonly inAnyCase: boolean;
}

/** What is shorter stands in files for other reasons; base64 keeps four characters of five bytes, and none of four. */
export const soughtBytesMin = 8;
/** So much of a file is in memory at a time. */
const chunkBytes = 1024 * 1024;
/** What files begin with whose bytes are packed: what is in them can't be found so. Not by their names: what an interrupted export left ends in `.tmp`. */
const packedBeginnings: readonly Buffer[] = [
  ['parquet', '50415231'],
  ['gzip', '1f8b'],
  ['zstd', '28b52ffd'],
  ['lz4', '04224d18'],
  ['zip', '504b0304'],
  ['bzip2', '425a68'],
  ['xz', 'fd377a585a00'],
  ['7z', '377abcaf271c'],
].map(([, hex = '']) => Buffer.from(hex, 'hex'));

type Unread = Searched['unread'][number];

/** Files below the folders, subfolders too. */
export async function findInFiles(folders: readonly string[], sought: readonly Sought[]): Promise<Searched> {
  const [long, short] = [sought.filter(isLong), sought.filter((one) => !isLong(one))];
  const forms = distinct(long.flatMap(formsOf));
  const found: Found[] = [];
  const unread: Unread[] = [];
  let searched = 0;
  for await (const path of filesBelow(forms.length === 0 ? [] : folders, unread)) {
    const looked = await lookThrough(path, forms);
    if ('why' in looked) unread.push({ path, ...looked });
    else searched++;
    if ('spellings' in looked && looked.spellings.length > 0) found.push({ path, ...looked });
  }
  return { found, searched, unread, tooShort: short.map(({ text }) => text) };
}

/** Folder by folder: one that can't be read (an ext4's `lost+found`) is said, and keeps no other from being looked into. */
async function* filesBelow(roots: readonly string[], unread: Unread[]): AsyncGenerator<string> {
  const folders = [...roots];
  for (const folder of folders) {
    let entries: Dirent[] = [];
    try {
      entries = await readdir(folder, { withFileTypes: true });
    } catch (error) {
      unread.push({ path: folder, why: whyUnread(error) });
    }
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      if (entry.isFile() || entry.isSymbolicLink()) yield path;
    }
  }
}

function isLong({ text }: Sought): boolean {
  return Buffer.byteLength(text) >= soughtBytesMin;
}

type Looked = { readonly spellings: readonly string[] } | { readonly why: string };

async function lookThrough(path: string, forms: readonly Form[]): Promise<Looked> {
  try {
    // A link is followed.
    if (!(await stat(path)).isFile()) return { why: 'leads to no file' };
    const spellings = await spellingsIn(path, forms);
    return spellings === null ? { why: 'is packed' } : { spellings };
  } catch (error) {
    return { why: whyUnread(error) };
  }
}

function whyUnread(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : error;
  return `is not to be read (${String(code)})`;
}

/** Plain, as JSON escapes it, in a URL, in a mail's quoted-printable, in UTF-16, and in base64 wherever in a group of three bytes it begins. */
function formsOf({ text: value, inAnyCase }: Sought): readonly Form[] {
  const escaped = value.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const quotedPrintable = [...Buffer.from(value)].map(quoted).join('');
  const plain: readonly (readonly [string, Buffer])[] = [
    ['UTF-8', Buffer.from(value)],
    ['JSON', Buffer.from(escaped)],
    ['URL', Buffer.from(encodeURIComponent(value))],
    ['quoted-printable', Buffer.from(quotedPrintable)],
    ['UTF-16', Buffer.from(value, 'utf16le')],
  ];
  return [
    ...plain.map(([spelling, bytes]) => ({ spelling, bytes: inAnyCase ? lowered(bytes) : bytes, inAnyCase })),
    ...[0, 1, 2].map((before) => ({ spelling: 'base64', bytes: inBase64(value, before), inAnyCase: false })),
  ];
}

/** Of the same bytes the first. */
function distinct(forms: readonly Form[]): readonly Form[] {
  const keyOf = ({ bytes, inAnyCase }: Form) => `${inAnyCase} ${bytes.toString('latin1')}`;
  return [...new Map(forms.toReversed().map((form) => [keyOf(form), form])).values()].toReversed();
}

/** null: it is packed. */
async function spellingsIn(path: string, forms: readonly Form[]): Promise<string[] | null> {
  const overlap = Math.max(...forms.map(({ bytes }) => bytes.length)) - 1;
  const spellings = new Set<string>();
  let rest: Buffer | null = null;
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes })) {
    if (rest === null && isPacked(chunk as Buffer)) return null;
    const bytes: Buffer = Buffer.concat([rest ?? Buffer.alloc(0), chunk as Buffer]);
    const low = forms.some(({ inAnyCase }) => inAnyCase) ? lowered(bytes) : bytes;
    for (const form of forms) if ((form.inAnyCase ? low : bytes).includes(form.bytes)) spellings.add(form.spelling);
    rest = bytes.subarray(Math.max(0, bytes.length - overlap));
  }
  return [...spellings];
}

function isPacked(first: Buffer): boolean {
  return packedBeginnings.some((bytes) => first.subarray(0, bytes.length).equals(bytes));
}

/** Byte by byte, the quickest way; the other letters of a text in UTF-8 are looked for as they are given. */
function lowered(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('latin1').toLowerCase(), 'latin1');
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
