// What browsers load: as it was built, or built where the sources have changed since. Asked for once when the service has started, so that nobody waits for it.

import type { LoadWebAssets, WebAsset } from '../../api/web.ts';
import { unavailable } from '../../domain/errors.ts';
import type { Logger } from '../../ports/logger.ts';
import { buildBeside } from './beside.ts';
import { buildWeb, hasSources, sourcesStamp } from './build.ts';
import { readBuilt, writeBuilt } from './store.ts';

interface Options {
  readonly logger: Logger;
  /** A build that is under way ends with the service. */
  readonly closing: AbortSignal;
}

/** Rejects with SERVICE_UNAVAILABLE; the next one who asks tries again. */
export function createWebAssets({ logger, closing }: Options): LoadWebAssets {
  let loading: Promise<ReadonlyMap<string, WebAsset>> | null = null;
  return () => {
    loading ??= loadWeb(logger, closing)
      .then((assets) => {
        logger.info('the pages for browsers are there', { files: assets.length });
        return new Map(assets.map((asset) => [asset.path, asset]));
      })
      .catch((err: unknown) => {
        loading = null;
        if (!closing.aborted) logger.error('the pages for browsers are not built and could not be', { err });
        throw unavailable('The pages for browsers could not be built: the log of the service says why.');
      });
    return loading;
  };
}

/**
 * An installation without the sources (an image) has what was built when it was made.
 * @param closing of the service beside which it is built; null: it is built in this process
 */
export async function loadWeb(logger: Logger, closing: AbortSignal | null): Promise<readonly WebAsset[]> {
  if (!hasSources()) {
    const built = await readBuilt(null);
    if (built === null) throw new Error('neither the sources nor what is built of them are installed');
    return built;
  }
  const stamp = await sourcesStamp();
  const built = await readBuilt(stamp);
  if (built !== null) return built;
  if (closing !== null) {
    await buildBeside(closing);
    const builtBeside = await readBuilt(stamp);
    if (builtBeside !== null) return builtBeside;
    closing.throwIfAborted();
  }
  // Where nothing can be kept it is built in here; where it can't be built, here it is said why.
  const assets = await buildWeb();
  await writeBuilt(stamp, assets).catch((err: unknown) => {
    logger.info('the pages for browsers are built, but can not be kept: each start builds them anew', { err });
  });
  return assets;
}
