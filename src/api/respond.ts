// Writes an answer: JSON text at once, with its length, no ETag.

import type { ServerResponse } from 'node:http';

export type Headers = Record<string, string>;

/** What a handler answers with; `body` becomes JSON, `json` is. */
export type Answer = { readonly status: number; readonly headers?: Headers } & (
  | { readonly body: unknown }
  | { readonly json: string }
);

export function ok(body: unknown): Answer {
  return { status: 200, body };
}

export function sendJson(res: ServerResponse, status: number, body: unknown, headers: Headers): void {
  sendText(res, status, JSON.stringify(body), headers);
}

/** Past this a text is written as bytes: one that waits for its reader would stay in memory twice. */
const textLengthMax = 16 * 1024;

/** Answers how many bytes the body has. @param text JSON */
export function sendText(res: ServerResponse, status: number, text: string, headers: Headers): number {
  const body = text.length > textLengthMax ? Buffer.from(text) : text;
  const bytes = Buffer.byteLength(body);
  res.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes,
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  res.end(body);
  letGoOfBody(res);
  return bytes;
}

/** So long the rest of a body that was answered before its end is read and thrown away. */
const lingerMs = 2000;

/** An answer came before the request's body ended: the client gets a moment to read it, then the connection goes. */
function letGoOfBody({ req }: ServerResponse): void {
  if (req.complete) return;
  const timer = setTimeout(() => {
    if (!req.complete) req.destroy();
  }, lingerMs);
  timer.unref();
  req.once('close', () => clearTimeout(timer));
}
