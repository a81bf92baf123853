// Where what was built for browsers is kept: a folder for each state of the sources, so that what is there is never stale.
//
//   build/web-<stamp>/assets.json, and beside it each file plain, .br and .gz

import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { z } from 'zod';

import type { WebAsset } from '../../api/web.ts';
import { root } from './build.ts';

const folder = join(root, 'build');
const listName = 'assets.json';

const list = z.array(
  z.strictObject({
    path: z.string(),
    type: z.string(),
    isForever: z.boolean(),
    /** Its files, by how they are packed. */
    files: z.strictObject({ plain: z.string(), br: z.string().optional(), gzip: z.string().optional() }),
  }),
);

/** null: nothing has been built of them. Without a stamp: whatever there is. */
export async function readBuilt(stamp: string | null): Promise<WebAsset[] | null> {
  const names: readonly string[] = await readdir(folder).catch(() => []);
  const name = stamp === null ? names.find((each) => each.startsWith('web-')) : `web-${stamp}`;
  if (name === undefined || !names.includes(name)) return null;
  const text = await readFile(join(folder, name, listName), 'utf8');
  return Promise.all(
    list.parse(JSON.parse(text)).map(async ({ files, ...about }): Promise<WebAsset> => {
      const of = (file: string) => readFile(join(folder, name, file));
      return {
        ...about,
        plain: await of(files.plain),
        ...(files.br === undefined ? {} : { br: await of(files.br) }),
        ...(files.gzip === undefined ? {} : { gzip: await of(files.gzip) }),
      };
    }),
  );
}

/** In place of what was built before. Rejects where nothing can be written. */
export async function writeBuilt(stamp: string, assets: readonly WebAsset[]): Promise<void> {
  const unfinished = join(folder, `unfinished-${process.pid}`);
  await mkdir(unfinished, { recursive: true });
  const listed = await Promise.all(
    assets.map(async ({ path, type, isForever, ...packed }, index) => {
      const files = await Promise.all(
        Object.entries(packed).map(async ([packing, bytes]) => {
          const name = `${index}.${packing}`;
          await writeFile(join(unfinished, name), bytes);
          return [packing, name] as const;
        }),
      );
      return { path, type, isForever, files: Object.fromEntries(files) };
    }),
  );
  await writeFile(join(unfinished, listName), JSON.stringify(listed, null, 2));
  const name = `web-${stamp}`;
  for (const former of await readdir(folder)) {
    if (former.startsWith('web-') && former !== name) await rm(join(folder, former), { recursive: true, force: true });
  }
  // Another process may have been faster: what it has written is the same.
  await rename(unfinished, join(folder, name)).catch(() => rm(unfinished, { recursive: true, force: true }));
}
