// Makes one thread of a running service hang, as a loop without an end would, through the inspector that the service was started with.

import { heraldCommand } from './herald.ts';
import { until } from './until.ts';

/** Of a service whose threads can be made to hang. */
export const inspectedCommand: readonly string[] = ['--inspect=127.0.0.1:0', ...heraldCommand];

interface Said {
  readonly method?: string;
  readonly params?: { readonly sessionId?: string; readonly workerInfo?: { readonly title: string } };
}

/** @param service what it says on stderr @param forMs then it goes on by itself. Resolves once it was told. */
export async function hang(service: { logs(): string }, thread: string, forMs: number): Promise<void> {
  const listening = /^Debugger listening on (ws:\S+)$/gm;
  // The process that goes on with the allocator's settings says it again.
  const url = [...service.logs().matchAll(listening)].at(-1)?.[1];
  if (url === undefined) throw new Error('the service was not started with an inspector');
  const socket = new WebSocket(url);
  const sessions = new Map<string, string>();
  socket.addEventListener('message', ({ data }) => {
    const { method, params } = JSON.parse(String(data)) as Said;
    if (method !== 'NodeWorker.attachedToWorker') return;
    sessions.set(params?.workerInfo?.title ?? '', params?.sessionId ?? '');
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`no inspector answers at ${url}`)));
  });
  const send = (id: number, method: string, params: object) => socket.send(JSON.stringify({ id, method, params }));
  send(1, 'NodeWorker.enable', { waitForDebuggerOnStart: false });
  const sessionOf = () => [...sessions].find(([title]) => title.endsWith(thread))?.[1];
  const sessionId = await until(() => sessionOf() ?? false, { what: `the thread ${thread}` });
  const expression = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${forMs})`;
  const message = JSON.stringify({ id: 2, method: 'Runtime.evaluate', params: { expression } });
  send(3, 'NodeWorker.sendMessageToWorker', { sessionId, message });
  socket.addEventListener('message', ({ data }) => {
    const { id } = JSON.parse(String(data)) as { readonly id?: number };
    // What was asked of the thread itself is answered when it goes on; the connection is not needed for that.
    if (id === 3) socket.close();
  });
}
