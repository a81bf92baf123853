// What browsers load, when somebody first asks for it: as it was built, or built then where the sources have changed since.

import type { LoadWebAssets, WebAsset } from '../../api/web.ts';
import { unavailable } from '../../domain/errors.ts';
import type { Logger } from '../../ports/logger.ts';
import { buildWeb, hasSources, sourcesStamp } from './build.ts';
import { readBuilt, writeBuilt } from './store.ts';

/** Rejects with SERVICE_UNAVAILABLE; the next one who asks tries again. */
export function createWebAssets(logger: Logger): LoadWebAssets {
  let loading: Promise<ReadonlyMap<string, WebAsset>> | null = null;
  return () => {
    loading ??= loadWeb(logger)
      .then((assets) => new Map(assets.map((asset) => [asset.path, asset])))
      .catch((err: unknown) => {
        loading = null;
        logger.error('the pages for browsers are not built and could not be', { err });
        throw unavailable('The pages for browsers could not be built: the log of the service says why.');
      });
    return loading;
  };
}

/** An installation without the sources (an image) has what was built when it was made. */
export async function loadWeb(logger: Logger): Promise<readonly WebAsset[]> {
  if (!hasSources()) {
    const built = await readBuilt(null);
    if (built === null) throw new Error('neither the sources nor what is built of them are installed');
    return built;
  }
  const stamp = await sourcesStamp();
  const built = await readBuilt(stamp);
  if (built !== null) return built;
  const assets = await buildWeb();
  await writeBuilt(stamp, assets).catch((err: unknown) => {
    logger.info('the pages for browsers are built, but can not be kept: each start builds them anew', { err });
  });
  logger.info('built the pages for browsers', { files: assets.length });
  return assets;
}
