// The operations port: whether the process lives, whether its dependencies answer, and its metrics.

import type { Express } from 'express';
import express from 'express';

import type { Logger } from '../ports/logger.ts';
import { sendJson } from './respond.ts';

export interface OperationsDependencies {
  /** Each asked by name; false or a rejection: it is down. */
  readonly dependencies: Readonly<Record<string, () => Promise<boolean>>>;
  /** Shown as well, but the service goes on without them. */
  readonly optional?: Readonly<Record<string, () => Promise<boolean>>>;
  /** False while the process starts; absent: it has started. */
  readonly hasStarted?: () => boolean;
  readonly metrics: { read(): Promise<string>; readonly contentType: string };
  readonly closing: AbortSignal;
  readonly logger: Logger;
}

/** A dependency that has not answered by then is down. */
const answerWithinMs = 2000;

export function createOperations(deps: OperationsDependencies): Express {
  const { dependencies, optional = {}, hasStarted = () => true, metrics, closing, logger } = deps;
  const app = express();
  app.disable('etag').disable('x-powered-by').set('query parser', false);
  app.get('/health/live', (_req, res) => sendJson(res, 200, { status: 'live' }, noStore));
  app.get('/health/ready', async (_req, res) => {
    const asked = Object.entries({ ...dependencies, ...optional });
    const states = await Promise.all(
      asked.map(async ([name, ask]) => ({ name, isUp: await isUp(ask), isNeeded: Object.hasOwn(dependencies, name) })),
    );
    const isReady = !closing.aborted && hasStarted() && states.every((state) => state.isUp || !state.isNeeded);
    const shown = Object.fromEntries(
      states.map((state) => [state.name, state.isUp ? 'up' : state.isNeeded ? 'down' : 'down, not needed']),
    );
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

async function isUp(ask: () => Promise<boolean>): Promise<boolean> {
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
