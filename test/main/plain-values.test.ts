// What is looked for is found however it is written, wherever in a file it stands.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { findInFiles } from '../../src/main/plain-values.ts';

const value = 'zoë+1@example.com';
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-values-'));
});
afterEach(() => rm(folder, { recursive: true }));

const foundIn = async (bytes: Buffer | string): Promise<readonly string[]> => {
  await writeFile(join(folder, 'file'), bytes);
  const { found } = await findInFiles([folder], [value]);
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

  it("is said not to be looked for where a file's bytes are packed", async () => {
    await writeFile(join(folder, 'events-00001.parquet'), value);
    const { found, unread } = await findInFiles([folder], [value]);
    expect([found, unread]).toEqual([[], [join(folder, 'events-00001.parquet')]]);
  });
});
