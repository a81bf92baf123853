// Speaks with a process's inspector: starts and stops the CPU profiles of its main thread and of each of its workers.

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples?: readonly number[];
  /** us between a sample and the one before. */
  readonly timeDeltas?: readonly number[];
}

export interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
}

export interface ProfiledThread {
  readonly thread: string;
  readonly profile: CpuProfile;
}

export interface Inspector {
  startProfiles(): Promise<void>;
  stopProfiles(): Promise<readonly ProfiledThread[]>;
  close(): void;
}

/** Finer than V8's 1 ms: a webhook takes less than that in all. */
const samplingUs = 500;
const answerWithinMs = 60_000;

interface Message {
  readonly id?: number;
  readonly method?: string;
  /** Of what Node says of its workers. */
  readonly params?: WorkerEvent;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** A thread by the session that the main thread passes on; null: the main thread itself. */
interface Thread {
  readonly name: string;
  readonly sessionId: string | null;
}

export async function createInspector(url: string): Promise<Inspector> {
  const socket = new WebSocket(url);
  const waiting = new Map<string, { resolve(result: unknown): void; reject(error: Error): void }>();
  const threads: Thread[] = [{ name: 'main', sessionId: null }];
  let lastId = 0;

  const answered = (sessionId: string | null, { id, result, error }: Message) => {
    const asked = waiting.get(`${sessionId} ${id}`);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(`the inspector answered: ${error.message}`));
  };
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.method === undefined) return answered(null, message);
    const { sessionId = null, message: passedOn, workerInfo } = message.params ?? {};
    if (message.method === 'NodeWorker.attachedToWorker')
      threads.push({ name: workerName(workerInfo?.title ?? ''), sessionId });
    if (message.method === 'NodeWorker.receivedMessageFromWorker') answered(sessionId, JSON.parse(passedOn ?? '{}'));
    if (message.method === 'NodeWorker.detachedFromWorker')
      threads.splice(0, threads.length, ...threads.filter((thread) => thread.sessionId !== sessionId));
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', () => reject(new Error(`no inspector answers at ${url}`)));
  });

  const ask = async (thread: Thread, method: string, params: object = {}): Promise<unknown> => {
    const id = ++lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => reject(new Error(`the inspector didn't answer ${method}`)), answerWithinMs);
    waiting.set(`${thread.sessionId} ${id}`, { resolve, reject });
    const message = { id, method, params };
    const { sessionId } = thread;
    socket.send(JSON.stringify(sessionId === null ? message : passedOn(++lastId, sessionId, message)));
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(`${sessionId} ${id}`);
    }
  };
  const main: Thread = { name: 'main', sessionId: null };
  // Its answer comes behind the news of every worker that there is.
  await ask(main, 'NodeWorker.enable', { waitForDebuggerOnStart: false });
  const profiled = threads.slice();

  return {
    async startProfiles() {
      for (const thread of profiled) {
        await ask(thread, 'Profiler.enable');
        await ask(thread, 'Profiler.setSamplingInterval', { interval: samplingUs });
      }
      await Promise.all(profiled.map((thread) => ask(thread, 'Profiler.start')));
    },
    stopProfiles: async () => {
      const still = profiled.filter(({ sessionId }) => threads.some((thread) => thread.sessionId === sessionId));
      return Promise.all(
        still.map(async (thread) => ({
          thread: thread.name,
          profile: ((await ask(thread, 'Profiler.stop')) as { profile: CpuProfile }).profile,
        })),
      );
    },
    close: () => socket.close(),
  };
}

interface WorkerEvent {
  readonly sessionId?: string;
  readonly message?: string;
  readonly workerInfo?: { readonly title: string };
}

function passedOn(id: number, sessionId: string, message: object): object {
  return { id, method: 'NodeWorker.sendMessageToWorker', params: { sessionId, message: JSON.stringify(message) } };
}

/** `[worker 1] projectors` and the like. */
function workerName(title: string): string {
  return title.replace(/^\[worker (\d+)\] ?/, (_, nth: string) => (title.endsWith(']') ? `worker-${nth}` : ''));
}
