// The operations port: whether the process lives, whether its dependencies answer, and its metrics.

import type { Express } from 'express';
import express from 'express';

import type { Logger } from '../ports/logger.ts';
import { sendJson } from './respond.ts';

export interface OperationsDependencies {
  /** Each asked by name; false or a rejection: it is down. */
  readonly dependencies: Readonly<Record<string, () => Promise<boolean>>>;
  readonly metrics: { read(): Promise<string>; readonly contentType: string };
  readonly closing: AbortSignal;
  readonly logger: Logger;
}

/** A dependency that has not answered by then is down. */
const answerWithinMs = 2000;

export function createOperations({ dependencies, metrics, closing, logger }: OperationsDependencies): Express {
  const app = express();
  app.disable('etag').disable('x-powered-by').set('query parser', false);
  app.get('/health/live', (_req, res) => sendJson(res, 200, { status: 'live' }, noStore));
  app.get('/health/ready', async (_req, res) => {
    const names = Object.keys(dependencies);
    const states = await Promise.all(Object.values(dependencies).map(isUp));
    const isReady = !closing.aborted && states.every(Boolean);
    const shown = Object.fromEntries(names.map((name, i) => [name, states[i] === true ? 'up' : 'down']));
    sendJson(
      res,
      isReady ? 200 : 503,
      { status: closing.aborted ? 'stopping' : isReady ? 'ready' : 'not ready', dependencies: shown },
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
