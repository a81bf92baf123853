// The files of a round: what of them stands in memory is bounded, however many there are.

import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Row, Table } from '../../src/export/columns.ts';
import { beginRound, sweep } from '../../src/export/files.ts';
import type { OpenPart, Part } from '../../src/export/formats/index.ts';

const table: Table = {
  name: 'events',
  about: '',
  day: 'at',
  tenant: 'tenantId',
  columns: [
    { name: 'at', kind: 'timestamp', about: '' },
    { name: 'tenantId', kind: 'text', about: '' },
  ],
};
const mib = 1024 * 1024;
const row = (tenantId: string): Row => [0, tenantId];

let folder: string;
/** Those that haven't ended. */
let open: Map<string, Part>;
let flushed: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-files-'));
  open = new Map();
  flushed = [];
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Parts of which each row holds so much until it is flushed, and a tenth of that until the file ends. */
const partsHolding =
  (rowBytes: (path: string) => number): OpenPart =>
  (path) => {
    writeFileSync(path, '');
    let [held, footerBytes] = [0, 0];
    const flush = () => {
      if (held > 0) flushed.push(path);
      footerBytes += held / 10;
      held = 0;
    };
    const part: Part = {
      get heldBytes() {
        return held;
      },
      get footerBytes() {
        return footerBytes;
      },
      add: () => (held += rowBytes(path)),
      flush,
      end() {
        flush();
        open.delete(path);
      },
    };
    open.set(path, part);
    return part;
  };

const begin = (openPart: OpenPart) =>
  beginRound({ folder, table, format: 'parquet', split: 'tenant', openPart, number: 7 });

const sum = (of: 'heldBytes' | 'footerBytes') => [...open.values()].reduce((total, part) => total + part[of], 0);

describe('the files of a round', () => {
  it('end, and others go on, where what stays in memory until they do is too much; all are there once the round has ended', async () => {
    const round = begin(partsHolding(() => 4 * mib));
    let footerBytesMax = 0;
    for (let i = 0; i < 200; i++) {
      round.add([row(`t${i % 4}`)]);
      footerBytesMax = Math.max(footerBytesMax, sum('footerBytes'));
    }
    expect(footerBytesMax).toBeLessThan(36 * mib);
    const written = await readdir(folder, { recursive: true });
    expect(written.filter((name) => name.endsWith('.parquet'))).toEqual([]);
    const files = round.end();
    expect(new Set(files.map(({ path }) => path))).toEqual(
      new Set(
        [7, 8, 9].flatMap((number) => [0, 1, 2, 3].map((tenant) => `tenant=t${tenant}/events-0000${number}.parquet`)),
      ),
    );
    expect(files.every(({ path }) => existsSync(join(folder, path)))).toBe(true);
    expect(files.reduce((total, { rows }) => total + rows, 0)).toBe(200);
    expect([round.rows, round.nextNumber, open.size]).toEqual([200, 10, 0]);
  });

  it('that ended in a round that did not are swept away with it', async () => {
    const round = begin(partsHolding(() => 4 * mib));
    for (let i = 0; i < 200; i++) round.add([row('t0')]);
    sweep(folder, table, []);
    expect(await readdir(join(folder, 'tenant=t0'))).toEqual([]);
  });

  it('are flushed the fullest first, half of all: groups of few rows are what makes footers long', () => {
    const large = (path: string) => path.includes('large');
    const round = begin(partsHolding((path) => (large(path) ? mib : 1024)));
    for (let i = 0; i < 100; i++) round.add([row('large'), row('larger'), ...[1, 2, 3].map((i) => row(`small${i}`))]);
    expect(flushed.length).toBeGreaterThan(5);
    expect(flushed.every(large)).toBe(true);
    expect(sum('heldBytes')).toBeLessThan(25 * mib);
  });
});
