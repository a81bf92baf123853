// What the files of an export hold, whatever its format.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';

import { parquetReadObjects } from 'hyparquet';

import type { Manifest } from '../../src/export/manifest.ts';

export async function manifestIn(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest;
}

/** One column of all of its rows, as texts, file after file. */
export async function columnIn(folder: string, name: string): Promise<readonly string[]> {
  const { files, format } = await manifestIn(folder);
  const all = await Promise.all(
    files.map(async ({ path }) => columnOf[format](await readFile(join(folder, path)), name)),
  );
  return all.flat();
}

const compressors = { ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)) };

const columnOf: Readonly<Record<Manifest['format'], (bytes: Buffer, name: string) => Promise<readonly string[]>>> = {
  async ndjson(bytes, name) {
    const lines = bytes.toString().split('\n').slice(0, -1);
    return lines.map((line) => String((JSON.parse(line) as Record<string, unknown>)[name]));
  },
  async csv(bytes, name) {
    const [head = [], ...rows] = linesOfCsv(bytes.toString());
    return rows.map((row) => row[head.indexOf(name)] ?? '');
  },
  async parquet(bytes, name) {
    const file = new Uint8Array(bytes).buffer;
    const rows = await parquetReadObjects({ file, compressors, columns: [name] });
    return rows.map((row) => String(row[name]));
  },
};

/** RFC 4180, by its grammar. */
function linesOfCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain = '', end = ''] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    if (end === '') break;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
