// What is looked for is found however it is written, wherever in a file it stands.

import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { findInFiles } from '../../src/main/plain-values.ts';

const value = 'zoë+1@example.com';
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-values-'));
});
afterEach(() => rm(folder, { recursive: true }));

const foundIn = async (bytes: Buffer | string, inAnyCase = false): Promise<readonly string[]> => {
  await writeFile(join(folder, 'file'), bytes);
  const { found } = await findInFiles([folder], [{ text: value, inAnyCase }]);
  return found.flatMap(({ spellings }) => spellings);
};

describe('a value in a file', () => {
  it.each([
    ['UTF-8', `to ${value}.`],
    ['JSON', '{"to":"zo\\u00eb+1@example.com"}'],
    ['URL', 'https://example.com/?to=zo%C3%AB%2B1%40example.com'],
    ['quoted-printable', 'To: zo=C3=AB+1@example.com'],
    ['UTF-16', Buffer.from(`to ${value}`, 'utf16le')],
    ['base64', Buffer.from(`to ${value} `).toString('base64')],
    ['base64', Buffer.from(`to: ${value} `).toString('base64')],
    ['base64', Buffer.from(`to=  ${value} `).toString('base64')],
  ])('is found as %s', async (spelling, bytes) => {
    expect(await foundIn(bytes)).toEqual([spelling]);
  });

  it('is found where one piece of the file ends and the next begins', async () => {
    for (const before of [0, 5, value.length - 1])
      expect(await foundIn(`${' '.repeat(1024 * 1024 - before)}${value}`)).toEqual(['UTF-8']);
  });

  it('is nothing that only looks like it', async () => {
    expect(await foundIn('zoe+1@example.com, zoë@example.com')).toEqual([]);
  });

  it.each([
    ['a table of an export that was interrupted', 'events-00001.parquet.tmp', 'PAR1'],
    ['an export as .gz', 'export.ndjson.gz', gzipSync(value)],
    ['a backup by another name', 'backup.old', zstdCompressSync(value)],
    ['a zip', 'sent', Buffer.from('504b0304', 'hex')],
    ['a bzip2', 'sent', 'BZh9'],
    ['an xz', 'sent', Buffer.from('fd377a585a00', 'hex')],
    ['an lz4', 'sent', Buffer.from('04224d18', 'hex')],
    ['a 7z', 'sent', Buffer.from('377abcaf271c', 'hex')],
  ])("is said not to be looked for where a file's bytes are packed: %s", async (_, name, bytes) => {
    const path = join(folder, name);
    await writeFile(path, Buffer.concat([Buffer.from(bytes), Buffer.alloc(100)]));
    const { found, unread } = await findInFiles([folder], [{ text: value, inAnyCase: false }]);
    expect([found, unread]).toEqual([[], [{ path, why: 'is packed' }]]);
  });

  it('is found in a file whose bytes are not packed, whatever its name says', async () => {
    await writeFile(join(folder, 'list.parquet'), value);
    const { found } = await findInFiles([folder], [{ text: value, inAnyCase: false }]);
    expect(found).toEqual([{ path: join(folder, 'list.parquet'), spellings: ['UTF-8'] }]);
  });

  it.each([
    ['UTF-8', 'to ZOë+1@Example.COM.'],
    ['JSON', '{"to":"Zo\\u00EB+1@Example.com"}'],
    ['URL', 'https://example.com/?to=Zo%c3%ab%2b1%40Example.com'],
    ['quoted-printable', 'To: Zo=c3=ab+1@Example.com'],
    ['UTF-16', Buffer.from('to Zoë+1@Example.com', 'utf16le')],
  ])('is found as %s in upper and lower case, where these are the same', async (spelling, bytes) => {
    expect([await foundIn(bytes), await foundIn(bytes, true)]).toEqual([[], [spelling]]);
  });

  it('of under 8 bytes is not looked for, and that is said: it stands in every file', async () => {
    await writeFile(join(folder, 'file'), 'a canada, and whatever else');
    const sought = ['ada', '1234567'].map((text) => ({ text, inAnyCase: false }));
    expect(await findInFiles([folder], sought)).toEqual({
      found: [],
      searched: 0,
      unread: [],
      tooShort: ['ada', '1234567'],
    });
    const long = { text: '12345678', inAnyCase: false };
    expect(await findInFiles([folder], [...sought, long])).toMatchObject({ found: [], searched: 1 });
    for (const [before, after] of [
      ['', ' '],
      ['a', 'b'],
      ['ab', ''],
    ] as const) {
      await writeFile(join(folder, 'file'), Buffer.from(`${before}${long.text}${after}`).toString('base64'));
      expect((await findInFiles([folder], [long])).found).toMatchObject([{ spellings: ['base64'] }]);
    }
  });

  it('is found beside a folder that can not be read, or is gone, which is said', async () => {
    const [mine, closed, gone] = ['a-mine', 'b-closed', 'c-gone'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(join(folder, 'file'), value);
    for (const one of [mine, closed]) await mkdir(one);
    await writeFile(join(mine, 'file'), value);
    await chmod(folder, 0o755);
    await chmod(closed, 0);
    // Whoever is root may read it all the same.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.('nobody');
    try {
      const { found, unread } = await findInFiles([gone, folder], [{ text: value, inAnyCase: false }]);
      expect(found.map(({ path }) => path)).toEqual([join(folder, 'file'), join(mine, 'file')]);
      expect(unread).toEqual([
        { path: gone, why: 'is not to be read (ENOENT)' },
        { path: closed, why: 'is not to be read (EACCES)' },
      ]);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  it('is found behind a link, and a file that can not be read is said to be one', async () => {
    const other = await mkdtemp(join(tmpdir(), 'herald-values-'));
    try {
      await writeFile(join(other, 'elsewhere'), value);
      await symlink(join(other, 'elsewhere'), join(folder, 'a-link'));
      await symlink(other, join(folder, 'b-folder'));
      await symlink(join(other, 'nowhere'), join(folder, 'c-nowhere'));
      const { found, unread } = await findInFiles([folder], [{ text: value, inAnyCase: false }]);
      expect(found).toEqual([{ path: join(folder, 'a-link'), spellings: ['UTF-8'] }]);
      expect(unread).toEqual([
        { path: join(folder, 'b-folder'), why: 'leads to no file' },
        { path: join(folder, 'c-nowhere'), why: 'is not to be read (ENOENT)' },
      ]);
    } finally {
      await rm(other, { recursive: true });
    }
  });
});
