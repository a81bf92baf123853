// BullMQ with Express and Redis: installed in their own folder, and started as they are mostly run, in one process beside a Redis of their own.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { freePort } from '../test/support/free-ports.ts';
import { startPeerApp } from './children.ts';
import { EnginesAwayError } from './engines.ts';
import { isAnswered } from './listening.ts';
import { settle } from './service.ts';

export interface Peer {
  readonly port: number;
  readonly pid: number;
  /** Of Redis. */
  readonly besidePid: number;
  /** null: it isn't profiled. */
  readonly inspectorUrl: null;
  settle(): Promise<void>;
  stop(): Promise<void>;
}

const folder = fileURLToPath(new URL('peers', import.meta.url));
const redisScript = fileURLToPath(new URL('../test/engines/redis.sh', import.meta.url));
const redisWithinMs = 10_000;
/** Some seconds where the registry is reached; npm itself tries for many minutes. */
const installMaxMs = 180_000;

/** Its packages, which nothing else installs, and redis-server where it is missing. By its lock, but as `install`: `ci` refuses where a registry lacks an optional package of another platform. */
export async function installPeers(progress: (line: string) => void): Promise<void> {
  await promisify(execFile)(redisScript, ['fetch']);
  const isThere = await stat(join(folder, 'node_modules', 'bullmq')).catch(() => null);
  if (isThere !== null) return;
  progress('peers: installing bench/peers');
  const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
  await promisify(execFile)('npm', ['install', ...options], { cwd: folder, timeout: installMaxMs });
}

/**
 * In a folder of their own. Redis appends to its file at once and syncs it every second, as is recommended for BullMQ: its 202 says less than Herald's, which is on the disk.
 * @throws EnginesAwayError where there is no redis-server to run
 */
export async function startPeer(dataDir: string): Promise<Peer> {
  await mkdir(dataDir, { recursive: true });
  const port = await freePort();
  const settings = [
    '--appendonly',
    'yes',
    '--appendfsync',
    'everysec',
    '--save',
    '',
    '--maxmemory-policy',
    'noeviction',
  ];
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dataDir, '--logfile', 'redis.log'];
  const redis = spawn('redis-server', [...place, ...settings], { stdio: 'ignore' });
  const failed = once(redis, 'error').then(([error]) => {
    throw new EnginesAwayError(`--peers needs redis-server: ${String(error)}`);
  });
  await Promise.race([failed, untilAnswers(`127.0.0.1:${port}`)]);
  const app = await startPeerApp({ REDIS_PORT: String(port) });
  return {
    port: app.port,
    pid: app.pid,
    besidePid: redis.pid ?? 0,
    inspectorUrl: null,
    settle: () => settle(app.pid),
    async stop() {
      app.stop();
      const ended = once(redis, 'exit');
      redis.kill('SIGTERM');
      await ended;
    },
  };
}

async function untilAnswers(address: string): Promise<void> {
  const deadline = Date.now() + redisWithinMs;
  while (!(await isAnswered(address))) {
    if (Date.now() > deadline) throw new EnginesAwayError(`no Redis answers at ${address}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
