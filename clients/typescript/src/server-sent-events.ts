// Server-sent events over fetch, as EventSource reads them, and taken up again where they were cut.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

import { HeraldConnectionError, HeraldError } from './errors.ts';
import type { Message } from './operations.ts';
import { sleep, waitMs } from './waiting.ts';

export type TextMessage = Message<string, string>;

/** Three of the service's comments, one every 15 s, haven't come, or no answer has: the connection is dead, whatever the system thinks. */
const usualSilenceMaxMs = 45_000;

interface Following {
  /** Opens the stream behind the message of this id; null: from now on. */
  open(lastEventId: string | null, signal: AbortSignal): Promise<Response>;
  /** Where it begins; undefined: from now on. */
  readonly lastEventId?: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Each time that it is cut, or can't be opened; it is tried again. */
  readonly onCut: ((cause: unknown) => void) | undefined;
  readonly silenceMaxMs?: number;
}

/**
 * Every message once, over as many connections as it takes.
 * @throws HeraldError that trying again doesn't mend, and the signal's reason
 */
export async function* follow({ open, signal, onCut, ...limits }: Following): AsyncGenerator<TextMessage, void> {
  const { silenceMaxMs: silenceMs = usualSilenceMaxMs } = limits;
  let lastEventId = limits.lastEventId ?? null;
  for (let failures = 1; ; failures++) {
    const ending = new AbortController();
    const either = signal === undefined ? ending.signal : AbortSignal.any([ending.signal, signal]);
    let retryAfterMs: number | null = null;
    try {
      const { body }: Response = await withinSilence(open(lastEventId, either), silenceMs);
      if (body !== null)
        for await (const message of messagesIn(body, silenceMs)) {
          failures = 1;
          if (message.id !== '') lastEventId = message.id;
          yield message;
        }
      onCut?.(null);
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof HeraldError && !isTemporary(cause)) throw cause;
      if (!(cause instanceof HeraldError) && !(cause instanceof HeraldConnectionError) && !(cause instanceof CutError))
        throw cause;
      if (cause instanceof HeraldError) ({ retryAfterMs } = cause);
      onCut?.(cause);
    } finally {
      ending.abort();
    }
    await sleep(waitMs(failures, retryAfterMs), signal);
  }
}

/** The connection ended in the midst of it, or has gone silent. */
class CutError extends Error {
  override readonly name = 'CutError';
}

function isTemporary({ status }: HeraldError): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** What breaks off before its empty line isn't told. @throws CutError */
async function* messagesIn(body: ReadableStream<Uint8Array>, silenceMs: number): AsyncGenerator<TextMessage, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let fields = noFields();
  try {
    for (;;) {
      const { done, value } = await withinSilence(pieceOf(reader), silenceMs);
      if (done) return;
      const text = rest + decoder.decode(value, { stream: true });
      // A carriage return at the end may be the first half of a line's end.
      const lines = text.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line !== '') take(line, fields);
        else if (fields.data !== null) {
          const { event, id, data } = fields;
          fields = noFields();
          yield { event, id, data };
        } else fields = noFields();
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

interface Fields {
  event: string;
  id: string;
  data: string | null;
}

const noFields = (): Fields => ({ event: 'message', id: '', data: null });

function take(line: string, fields: Fields): void {
  const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  if (name === 'data') fields.data = fields.data === null ? value : `${fields.data}\n${value}`;
  else if (name === 'event') fields.event = value;
  else if (name === 'id') fields.id = value;
}

function pieceOf(reader: ReadableStreamDefaultReader<Uint8Array>) {
  return reader.read().catch((cause: unknown) => {
    throw new CutError('The stream was cut.', { cause });
  });
}

async function withinSilence<T>(coming: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new CutError('The stream is silent.')), ms);
  });
  try {
    return await Promise.race([coming, silence]);
  } finally {
    clearTimeout(timer);
  }
}
