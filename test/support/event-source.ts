// A reader of server-sent events, as a browser's EventSource reads them.

import { until } from './until.ts';

export interface ReceivedEvent {
  readonly event: string | null;
  readonly id: string | null;
  // Tests read messages field by field.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any;
}

export type EventReader = Awaited<ReturnType<typeof readEvents>>;

/** Open once the answer's head has come. */
export async function readEvents(url: string, headers: Record<string, string>) {
  const controller = new AbortController();
  const response = await fetch(url, { headers, signal: controller.signal });
  const events: ReceivedEvent[] = [];
  const connected: ReceivedEvent[] = [];
  let lastEventId: string | null = null;
  let comments = 0;
  let hasEnded = false;
  const reading = (async () => {
    let buffered = '';
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) {
        buffered += decoder.decode(chunk as Uint8Array, { stream: true });
        const blocks = buffered.split('\n\n');
        buffered = blocks.pop() ?? '';
        for (const block of blocks) {
          if (block.startsWith(':')) {
            comments++;
            continue;
          }
          const event = parsed(block);
          lastEventId = event.id ?? lastEventId;
          (event.event === 'connected' ? connected : events).push(event);
        }
      }
    } catch {
      // The stream was cut, by either side.
    }
    hasEnded = true;
  })();
  return {
    status: response.status,
    headers: response.headers,
    /** What an inbox's stream begins with, apart from its `events`: a listener of those doesn't get it. */
    connected,
    events,
    /** As EventSource sends it when it connects again. */
    lastEventId: () => lastEventId,
    comments: () => comments,
    hasEnded: () => hasEnded,
    atLeast: (count: number) => until(() => events.length >= count, { what: `${count} events`, timeoutMs: 5000 }),
    async close() {
      controller.abort();
      await reading;
    },
  };
}

function parsed(block: string): ReceivedEvent {
  const fields = new Map(
    block.split('\n').map((line) => {
      const at = line.indexOf(': ');
      return [line.slice(0, at), line.slice(at + 2)] as const;
    }),
  );
  return {
    event: fields.get('event') ?? null,
    id: fields.get('id') ?? null,
    data: JSON.parse(fields.get('data') ?? 'null'),
  };
}
