// A log with many notifications, nine tenths of them one tenant's: filled once, and kept from run to run in the folder that the run names.

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { fillLog } from './children.ts';
import type { Filled } from './protocol.ts';
import { formatted } from './results.ts';
import { ownerToken, provisionTenants } from './service.ts';
import type { SharedPlace, Stage } from './stage.ts';

export interface Stored extends Filled {
  readonly place: SharedPlace;
  readonly notifications: number;
  /** Of the owner of the tenant that has nine tenths. */
  readonly token: string;
}

const filledFile = 'filled.json';

/** Once a run. Its read models may be folded already, to its end or in part, or not. */
export function storedLog(stage: Stage): Promise<Stored> {
  const known = ofRun.get(stage) ?? findOrFill(stage);
  ofRun.set(stage, known);
  return known;
}

const ofRun = new WeakMap<Stage, Promise<Stored>>();

async function findOrFill(stage: Stage): Promise<Stored> {
  const notifications = stage.sizes.stored;
  const [place, filled] = stage.engines.set === 'embedded' ? await kept(stage) : await madeAnew(stage);
  return { ...filled, place, notifications, token: await ownerToken(place, 0) };
}

/** Where whoever fills dies half-way, it isn’t there. */
async function kept(stage: Stage): Promise<readonly [SharedPlace, Filled]> {
  const { sizes, cache, results } = stage;
  const folder = join(cache, `${sizes.stored}-of-${sizes.tenants}-${await contentsHash()}`);
  const readFilled = async () => JSON.parse(await readFile(join(folder, filledFile), 'utf8')) as Filled;
  const known = await readFilled().catch(() => null);
  results.progress(`stored: ${sizes.stored} notifications ${known === null ? 'are to be' : 'are'} kept in ${folder}`);
  if (known !== null) {
    // It would grow with every run.
    await rm(join(folder, 'service.log'), { force: true });
    return [stage.keptPlace(folder), known];
  }
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  const filled = await fillFor(stage, stage.keptPlace(partial));
  await writeFile(join(partial, filledFile), JSON.stringify(filled));
  await rename(partial, folder);
  return [stage.keptPlace(folder), filled];
}

async function madeAnew(stage: Stage): Promise<readonly [SharedPlace, Filled]> {
  const place = await stage.place('stored');
  return [place, await fillFor(stage, place)];
}

/** Its tenants are real ones, so that their owners can ask. */
async function fillFor(stage: Stage, place: SharedPlace): Promise<Filled> {
  const { sizes, results } = stage;
  const service = await stage.start(place, 'api');
  const tenants = await provisionTenants(place, service.port, sizes.tenants);
  await service.stop();
  const tenantIds = tenants.map(({ id }) => id);
  const filled = await fillLog(place, { notifications: sizes.stored, tenantIds, share: 'nine tenths' });
  results.progress(`stored: put into the log in ${formatted(filled.tookMs / 1000)} s`);
  return filled;
}

/** What decides which bytes are in such a log: the schemas, and what fills it. */
async function contentsHash(): Promise<string> {
  const hash = createHash('sha256');
  const schemas = fileURLToPath(new URL('../schemas/', import.meta.url));
  const files = (await readdir(schemas)).sort().map((name) => join(schemas, name));
  for (const file of [...files, fileURLToPath(new URL('fill.ts', import.meta.url))]) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 12);
}
