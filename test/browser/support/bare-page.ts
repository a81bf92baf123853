// A page that nobody listens to: what drives a browser keeps every answer of its network for whoever asks for it, 100 MB and more, in the page's own process.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { until } from '../../support/until.ts';
import { chromiumPath, chromiumArguments } from './chromium.ts';

export interface Memory {
  /** Bytes, of scripts. */
  readonly heap: number;
  /** Bytes that the page's process shares with no other; null: this system doesn't tell. */
  readonly own: number | null;
}

export interface BarePage {
  /** What a function answers that is called in the page; it sees nothing but its argument. */
  run<Argument, Answer>(task: (argument: Argument) => Answer, argument: Argument): Promise<Awaited<Answer>>;
  /** After a collection. */
  memory(): Promise<Memory>;
  close(): Promise<void>;
}

type Send = (method: string, params?: object) => Promise<Record<string, unknown>>;

export async function openBarePage(url: string): Promise<BarePage> {
  const profile = await mkdtemp(join(tmpdir(), 'herald-chromium-'));
  const seen = ['--disable-renderer-backgrounding', '--disable-backgrounding-occluded-windows'];
  const args = [
    '--headless=new',
    '--remote-debugging-port=0',
    `--user-data-dir=${profile}`,
    '--window-size=1440,900',
    ...seen,
  ];
  const browser = spawn(chromiumPath(), [...chromiumArguments(), ...args, 'about:blank'], { stdio: 'ignore' });
  const ended = new Promise((resolve) => browser.once('exit', resolve));
  const [port, path] = await until(
    async () => {
      const lines = (await readFile(join(profile, 'DevToolsActivePort'), 'utf8').catch(() => '')).split('\n');
      return lines.length === 2 && lines;
    },
    { what: 'Chromium to say where it listens' },
  );
  const { send, close } = await connect(`ws://127.0.0.1:${port}${path}`);
  const { targetId } = await send('Target.createTarget', { url });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const ofPage: Send = (method, params) => send(method, params, String(sessionId));
  return {
    async run(task, argument) {
      const expression = `(${task.toString()})(${JSON.stringify(argument)})`;
      const asked = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = await ofPage('Runtime.evaluate', asked);
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
      return (result as { value: never }).value;
    },
    memory: () => memoryOf(send, ofPage),
    async close() {
      close();
      browser.kill('SIGKILL');
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

async function memoryOf(browser: Send, page: Send): Promise<Memory> {
  await page('HeapProfiler.collectGarbage');
  await page('Performance.enable');
  const { metrics } = await page('Performance.getMetrics');
  const heap = (metrics as { name: string; value: number }[]).find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0;
  const { processInfo } = await browser('SystemInfo.getProcessInfo');
  const processes = processInfo as { type: string; id: number; cpuTime: number }[];
  // Of several, those that wait for a page: the one that has worked most is this page's.
  const [renderer] = processes.filter(({ type }) => type === 'renderer').toSorted((a, b) => b.cpuTime - a.cpuTime);
  const rollup = await readFile(`/proc/${renderer?.id}/smaps_rollup`, 'utf8').catch(() => '');
  const kilobytes = [...rollup.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce((sum, [, kB]) => sum + Number(kB), 0);
  return { heap, own: kilobytes === 0 ? null : kilobytes * 1024 };
}

/** The devtools protocol, over a socket: each command is answered under its id, or refused. */
async function connect(url: string) {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', reject, { once: true });
  });
  const waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(String(data)) as {
      id?: number;
      result: Record<string, unknown>;
      error?: { message: string };
    };
    const asked = id === undefined ? undefined : waiting.get(id);
    if (id !== undefined) waiting.delete(id);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(error.message));
  });
  let last = 0;
  return {
    send(method: string, params: object = {}, sessionId?: string) {
      const asked = Promise.withResolvers<Record<string, unknown>>();
      const id = ++last;
      waiting.set(id, asked);
      socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
      return asked.promise;
    },
    close: () => socket.close(),
  };
}
