// The operations port: whether the process lives, whether its dependencies answer, and its metrics.

import type { Express } from 'express';
import express from 'express';

import type { Logger } from '../ports/logger.ts';
import { sendJson } from './respond.ts';

/** True: up. False: down; a text is down as well, and says why. */
export type UpOrWhy = boolean | string;

export interface OperationsDependencies {
  /** Each asked by name; a rejection: it is down. */
  readonly dependencies: Readonly<Record<string, () => Promise<UpOrWhy>>>;
  /** Shown as well, but the service goes on without them. */
  readonly optional?: Readonly<Record<string, () => Promise<UpOrWhy>>>;
  /** False while the process starts; absent: it has started. */
  readonly hasStarted?: () => boolean;
  readonly version: string;
  readonly metrics: { read(): Promise<string>; readonly contentType: string };
  readonly closing: AbortSignal;
  readonly logger: Logger;
}

/** A dependency that has not answered by then is down. */
const answerWithinMs = 2000;

export function createOperations(deps: OperationsDependencies): Express {
  const { dependencies, optional = {}, hasStarted = () => true, version, metrics, closing, logger } = deps;
  const app = express();
  app.disable('etag').disable('x-powered-by').set('query parser', false);
  app.get('/health/live', (_req, res) => sendJson(res, 200, { status: 'live', version }, noStore));
  app.get('/health/ready', async (_req, res) => {
    const asked = Object.entries({ ...dependencies, ...optional });
    const states = await Promise.all(
      asked.map(async ([name, ask]) => ({ name, up: await upOf(ask), isNeeded: Object.hasOwn(dependencies, name) })),
    );
    const isReady = !closing.aborted && hasStarted() && states.every(({ up, isNeeded }) => up === true || !isNeeded);
    const shown = Object.fromEntries(states.map(({ name, up, isNeeded }) => [name, shownOf(up, isNeeded)]));
    sendJson(
      res,
      isReady ? 200 : 503,
      {
        status: closing.aborted ? 'stopping' : isReady ? 'ready' : hasStarted() ? 'not ready' : 'starting',
        dependencies: shown,
      },
      noStore,
    );
  });
  app.get('/metrics', async (_req, res) => {
    const text = await metrics.read();
    res.writeHead(200, { 'content-type': metrics.contentType, ...noStore });
    res.end(text);
  });
  app.use((_req, res) => sendJson(res, 404, { error: 'There is health/live, health/ready and metrics.' }, noStore));
  app.use((err: unknown, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
    logger.error('an operations request failed', { err });
    if (res.headersSent) res.destroy();
    else sendJson(res, 500, { error: 'Something went wrong.' }, noStore);
  });
  return app;
}

const noStore = { 'cache-control': 'no-store' };

function shownOf(up: UpOrWhy, isNeeded: boolean): string {
  if (up === true) return 'up';
  const why = up === false ? '' : `: ${up}`;
  return isNeeded ? `down${why}` : `down, not needed${why}`;
}

async function upOf(ask: () => Promise<UpOrWhy>): Promise<UpOrWhy> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), answerWithinMs);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
