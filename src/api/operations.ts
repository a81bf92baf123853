// The operations port: whether the process lives, whether its dependencies answer, and its metrics. It has the thread of the API, and a page of metrics takes
// 5 ms of it: each address has its line, and what many ask for is made once for all of them.

import type { Express } from 'express';
import express from 'express';

import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import { createAnswerLine } from './answer-line.ts';
import { madeForAll } from './made-for-all.ts';
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
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly logger: Logger;
}

/** Of an address a hundred at once, then a hundred a second: a prober and two scrapers ask for a few in 10 s. All its connections may wait. */
const lineLimits = { atOnce: 100, lateMaxMs: 2000, waitingMax: 256 };
const everyMs = 10;

/** A dependency that has not answered by then is down. */
const answerWithinMs = 2000;

export function createOperations(deps: OperationsDependencies): Express {
  const { dependencies, optional = {}, hasStarted = () => true, version, metrics, closing, clock, logger } = deps;
  const line = createAnswerLine<string | undefined>(lineLimits, clock);
  const states = madeForAll(async () => {
    const asked = Object.entries({ ...dependencies, ...optional });
    return Promise.all(
      asked.map(async ([name, ask]) => ({ name, up: await upOf(ask), isNeeded: Object.hasOwn(dependencies, name) })),
    );
  }, clock);
  const page = madeForAll(async () => Buffer.from(await metrics.read()), clock);
  const app = express();
  app.disable('etag').disable('x-powered-by').set('query parser', false);
  app.use(async (req, _res, next) => {
    await line.turnOf(req.socket.remoteAddress, everyMs);
    next();
  });
  app.get('/health/live', (_req, res) => sendJson(res, 200, { status: 'live', version }, noStore));
  app.get('/health/ready', async (_req, res) => {
    const found = await states();
    const isReady = !closing.aborted && hasStarted() && found.every(({ up, isNeeded }) => up === true || !isNeeded);
    const shown = Object.fromEntries(found.map(({ name, up, isNeeded }) => [name, shownOf(up, isNeeded)]));
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
    const bytes = await page();
    res.writeHead(200, { 'content-type': metrics.contentType, 'content-length': bytes.length, ...noStore });
    res.end(bytes);
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
