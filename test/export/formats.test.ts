// CSV and Parquet hold what NDJSON holds.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';

import type { Column, Row } from '../../src/export/columns.ts';
import { csv, ndjson } from '../../src/export/formats/text.ts';
import { partsOf } from '../../src/export/formats/index.ts';

const columns: readonly Column[] = [
  { name: 'text', kind: 'text', about: '' },
  { name: 'number', kind: 'integer', about: '' },
  { name: 'at', kind: 'timestamp', about: '' },
  { name: 'is', kind: 'boolean', about: '' },
  { name: 'json', kind: 'json', about: '' },
];
const time = Date.UTC(2026, 10, 22, 7, 8, 9, 10);
const rows: readonly Row[] = [
  ['plain', 1, time, true, '{"a":1.50}'],
  ['a, "b"\r\nc ✓', 2 ** 50, 0, false, '"x"'],
  ['', 0, time - 86_400_000, null, '[]'],
  [null, null, null, null, null],
];

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-formats-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a file of an export', () => {
  it('in NDJSON has an object a line, times in ISO 8601, JSON as it was written', () => {
    expect(rows.map(ndjson(columns).line).join('')).toBe(
      [
        '{"text":"plain","number":1,"at":"2026-11-22T07:08:09.010Z","is":true,"json":{"a":1.50}}',
        '{"text":"a, \\"b\\"\\r\\nc ✓","number":1125899906842624,"at":"1970-01-01T00:00:00.000Z","is":false,"json":"x"}',
        '{"text":"","number":0,"at":"2026-11-21T07:08:09.010Z","is":null,"json":[]}',
        '{"text":null,"number":null,"at":null,"is":null,"json":null}',
        '',
      ].join('\n'),
    );
  });

  it('in CSV tells an empty text from none, and quotes what has to be', () => {
    const { head, line } = csv(columns);
    expect(head + rows.map(line).join('')).toBe(
      [
        'text,number,at,is,json',
        'plain,1,2026-11-22T07:08:09.010Z,true,"{""a"":1.50}"',
        '"a, ""b""\r\nc ✓",1125899906842624,1970-01-01T00:00:00.000Z,false,"""x"""',
        '"",0,2026-11-21T07:08:09.010Z,,[]',
        ',,,,',
        '',
      ].join('\r\n'),
    );
  });

  it('writes every time as toISOString does', () => {
    const at: Column = { name: 'at', kind: 'timestamp', about: '' };
    const { line } = csv([at]);
    const times = Array.from({ length: 2_000 }, (_, i) => (i * 7_919_000_417 - 3_000_000_000_000) % 4_000_000_000_000);
    expect(times.map((ms) => line([ms]).trimEnd())).toEqual(times.map((ms) => new Date(ms).toISOString()));
  });

  it('in Parquet has typed columns, over as many groups of rows as it takes', async () => {
    const path = join(folder, 'rows.parquet');
    const part = (await partsOf('parquet', columns))(path);
    for (const row of rows) part.add(row);
    part.flush();
    for (const row of rows) part.add(row);
    part.end();
    const file = new Uint8Array(readFileSync(path)).buffer;
    const compressors = { ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)) };
    const read = await parquetReadObjects({ file, compressors });
    const wanted = rows.map(([text, number, at, is, json]) => ({
      text,
      number: typeof number === 'number' ? BigInt(number) : null,
      at: typeof at === 'number' ? new Date(at) : null,
      is,
      json,
    }));
    expect(read).toEqual([...wanted, ...wanted]);
    expect(parquetMetadata(file).row_groups.map(({ num_rows }) => num_rows)).toEqual([4n, 4n]);
  });

  it('in Parquet tells of each group the least and the greatest of what is short: bounds of bodies would stand in memory until the file ends', async () => {
    const path = join(folder, 'long.parquet');
    const part = (await partsOf('parquet', columns))(path);
    const group = (text: string, json: string) => {
      part.add([text, 1, time, true, json]);
      part.flush();
    };
    group('short', '"short"');
    group('x'.repeat(190 * 1024), `"${'x'.repeat(190 * 1024)}"`);
    const { footerBytes } = part;
    part.end();
    const { row_groups } = parquetMetadata(new Uint8Array(readFileSync(path)).buffer);
    const bounds = row_groups.map((of) => of.columns.map(({ meta_data }) => meta_data?.statistics?.max_value ?? null));
    expect(bounds).toEqual([
      ['short', 1n, new Date(time), true, '"short"'],
      [null, 1n, new Date(time), true, null],
    ]);
    expect(footerBytes).toBe(2 * columns.length * 1024);
  });

  it('in Parquet is on the disk with each group: thousands of files wait for their next one', async () => {
    const path = join(folder, 'flushed.parquet');
    const part = (await partsOf('parquet', columns))(path);
    const text = randomBytes(10_000).toString('latin1');
    part.add([text, 1, time, true, null]);
    part.flush();
    expect(readFileSync(path).byteLength).toBeGreaterThan(10_000);
    part.end();
  });

  it('that holds nothing is one that can be read', async () => {
    const path = join(folder, 'none.parquet');
    (await partsOf('parquet', columns))(path).end();
    expect(parquetMetadata(new Uint8Array(readFileSync(path)).buffer).num_rows).toBe(0n);
  });
});
