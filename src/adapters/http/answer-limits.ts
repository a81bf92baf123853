// What a receiver may make of an answer, beyond what undici bounds: each field, piece and byte of it is work of the thread that all tenants share.

import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

import { OutboundError } from '../../ports/outbound.ts';

/** Of a body: chunks as the server made them, and where these are cut by how they arrive. What is more isn't read. */
export const bodyPiecesMax = 256;
/** Answers of 1xx before the one that counts. */
export const interimMax = 4;
/** Of one answer, and as many behind its body: undici counts the bytes of their names and values, of which 16,000 are next to none and take the thread for 4 ms. */
const fieldsMax = 500;
/** All that comes for one request, with what frames it: 64 KiB of a body, 16 KiB of headers, and half as much again. */
const answerBytesMax = 128 * 1024;

interface Parser {
  /** Names and values of the answer so far. */
  readonly headers: readonly Buffer[];
  /** @returns -1 to end it there */
  onHeaderField(name: Buffer): number;
}

const { kParser } = createRequire(import.meta.url)('undici/lib/core/symbols.js') as { readonly kParser: symbol };

/**
 * Of a connection that undici has taken. What is over ends it: the request fails as a network error.
 *
 * undici bounds the bytes of names and values alone, not how many there are, and nothing of what frames a body. Its parser is reached by a name of its own,
 * which the tests hold.
 */
export function boundAnswers(socket: Socket): void {
  const end = (what: string): void => void socket.destroy(new OutboundError('network', 'ANSWER_TOO_LONG', what));
  const parser = (socket as unknown as Record<symbol, Parser>)[kParser] as Parser;
  const onHeaderField = parser.onHeaderField.bind(parser);
  parser.onHeaderField = (name) => {
    if (parser.headers.length < 2 * fieldsMax) return onHeaderField(name);
    end(`the answer has more than ${fieldsMax} headers`);
    return -1;
  };

  // A request was written since: what comes is its answer.
  let written = socket.bytesWritten;
  let begunAt = socket.bytesRead;
  let heard = begunAt;
  socket.on('readable', () => {
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten;
      begunAt = heard;
    }
    heard = socket.bytesRead;
    if (heard - begunAt > answerBytesMax) end('the answer has more bytes than are read of one');
  });
}
