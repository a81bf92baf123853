// Server-sent events as they come over a connection, one after another; one on which nothing comes for long is cut.

import { Unreachable } from './client.ts';

export interface ServerSentEvent {
  readonly id: string | null;
  readonly data: string;
}

/** A message has a few KiB. */
const messageCharactersMax = 1024 * 1024;

/** Ends as the stream does. @param heard is told of whatever comes. @throws Unreachable when the connection breaks, or sends no messages */
export async function* serverSentEvents(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of whole(body)) {
    heard();
    text += decoder.decode(bytes, { stream: true }).replaceAll('\r', '');
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    if (text.length > messageCharactersMax) throw new Unreachable('The stream sends no messages.');
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== null) yield event;
    }
  }
}

async function* whole(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw error instanceof Unreachable ? error : new Unreachable('The connection was cut.');
  }
}

/** null: a comment, which keeps the connection open. */
function eventOf(block: string): ServerSentEvent | null {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, name, value = ''] = /^(id|data): ?(.*)$/s.exec(line) ?? [];
    if (name === 'id') id = value;
    if (name === 'data') data.push(value);
  }
  return data.length === 0 ? null : { id, data: data.join('\n') };
}
