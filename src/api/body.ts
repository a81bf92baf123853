// Reads a request's JSON body: its type (415), its size (413), its text (400), in this order.

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

import { DomainError } from '../domain/errors.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { BodyRoom } from './body-memory.ts';
import { ClientGoneError } from './errors.ts';
import { checkNumbers } from './exact-numbers.ts';
import { jsonProblem } from './json-problem.ts';
import { checkStrings } from './text-check.ts';

const bodyBytesMax = 256 * 1024;

/**
 * A body that is parsed, checked and written in a ms. One of 200 KiB takes 4 to be parsed and checked, and several that have come together would be taken in
 * one turn of the event loop: those wait for their turns.
 */
const shortBytesMax = 16 * 1024;
/** Of 200 KiB 8 ms: appended (5, with the disk), read back by a dispatcher, delivered, its outcome appended. */
const followsMsPerByte = 8 / (200 * 1024);

interface Reading {
  readonly room: BodyRoom;
  readonly turns: Pick<ThreadTurns, 'isOver' | 'next' | 'piece' | 'charge'>;
}

/** @throws DomainError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE, BAD_REQUEST */
export async function readJson(req: IncomingMessage, { room, turns }: Reading): Promise<unknown> {
  checkMediaType(req);
  return parsedInTurn(await readBytes(req, room), turns);
}

/** The body of a POST that needs none: undefined when it is absent or empty, whatever its type says. */
export async function readOptionalJson(req: IncomingMessage, { room, turns }: Reading): Promise<unknown> {
  const length = req.headers['content-length'];
  if (req.headers['transfer-encoding'] === undefined) {
    if (length === undefined || Number(length) === 0) return undefined;
    return readJson(req, { room, turns });
  }
  const bytes = await readBytes(req, room);
  if (bytes.length === 0) return undefined;
  checkMediaType(req);
  return parsedInTurn(bytes, turns);
}

async function parsedInTurn(bytes: Buffer, turns: Reading['turns']): Promise<unknown> {
  if (bytes.length <= shortBytesMax) return turns.piece(() => parseJson(bytes));
  if (turns.isOver()) await turns.next();
  turns.charge(bytes.length * followsMsPerByte);
  return turns.piece(() => parseJson(bytes));
}

/** Longer ones are no media type of ours; the pattern isn't tried on them, whose cost grows with the square of their white space. */
const mediaTypeMax = 100;
const mediaType = /^application\/(json|x-ndjson)\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i;

/** Of a body that is JSON, or a JSON text a line. @throws DomainError UNSUPPORTED_MEDIA_TYPE */
export function jsonFormatOf({ headers }: IncomingMessage): 'json' | 'ndjson' {
  const type = headers['content-type'] ?? '';
  const kind = type.length > mediaTypeMax ? undefined : mediaType.exec(type)?.[1]?.toLowerCase();
  if (kind === undefined)
    throw new DomainError(
      'UNSUPPORTED_MEDIA_TYPE',
      'Send the body as content-type: application/json or application/x-ndjson in UTF-8.',
    );
  checkEncoding(headers);
  return kind === 'json' ? 'json' : 'ndjson';
}

function checkMediaType({ headers }: IncomingMessage): void {
  const type = headers['content-type'];
  const isJson =
    type === 'application/json' ||
    (type !== undefined && type.length <= mediaTypeMax && mediaType.exec(type)?.[1]?.toLowerCase() === 'json');
  if (!isJson) {
    throw new DomainError('UNSUPPORTED_MEDIA_TYPE', `${wantedType}${hintOfType(type)}`);
  }
  checkEncoding(headers);
}

function checkEncoding(headers: IncomingMessage['headers']): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new DomainError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without a content-encoding.');
  }
}

const wantedType = 'Send the body as content-type: application/json in UTF-8.';

/** What comes of a client's own default, and how to change it. */
function hintOfType(type: string | undefined): string {
  if (type === undefined) return ' This one came without a content-type.';
  const [, name = ''] = /^\s*([\w.+-]{1,40}\/[\w.+-]{1,40})/.exec(type) ?? [];
  switch (name.toLowerCase()) {
    case 'application/x-www-form-urlencoded':
      return " This one came as a form: to curl's -d belongs -H 'content-type: application/json'.";
    case 'application/json':
      return ' This one came in another character set.';
    default:
      return name === '' ? '' : ` This one came as ${name}.`;
  }
}

/** As they came. @throws DomainError PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE */
export async function readBytes(req: IncomingMessage, room: BodyRoom, bytesMax = bodyBytesMax): Promise<Buffer> {
  const declared = Number(req.headers['content-length'] ?? bytesMax);
  if (declared > bytesMax) throw tooLarge(bytesMax);
  await room.take(declared);
  // It went while it waited: nothing would say so a second time.
  if (req.destroyed) throw new ClientGoneError();
  return collect(req, bytesMax);
}

function collect(req: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let first: Buffer | null = null;
    let rest: Buffer[] | null = null;
    let size = 0;
    const settle = () => {
      req.off('data', onData);
      req.off('end', onEnd);
      req.off('error', onGone);
      req.off('close', onGone);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > bytesMax) {
        settle();
        req.resume();
        reject(tooLarge(bytesMax));
        return;
      }
      if (first === null) first = chunk;
      else (rest ??= []).push(chunk);
    };
    const onEnd = () => {
      settle();
      if (first === null) resolve(empty);
      else resolve(rest === null ? first : Buffer.concat([first, ...rest], size));
    };
    const onGone = () => {
      settle();
      reject(new ClientGoneError());
    };
    req.on('data', onData);
    req.on('end', onEnd);
    req.on('error', onGone);
    req.on('close', onGone);
  });
}

const empty = Buffer.alloc(0);

function tooLarge(bytesMax: number): DomainError {
  return new DomainError('PAYLOAD_TOO_LARGE', `A request holds at most ${bytesMax / 1024} KiB.`);
}

/**
 * Only the escapes of NUL and of surrogates can bring in a character that isn't text; a body without them needs no second look.
 */
const suspicious = /\\u(?:0000|d[89a-f])/i;

/** @throws DomainError BAD_REQUEST for what is no JSON, or holds what can't be kept as it is */
function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new DomainError('BAD_REQUEST', 'The body is empty; it should be a JSON object.');
  if (!isUtf8(bytes)) throw notUtf8();
  return parseText(bytes.toString('utf8'));
}

export function notUtf8(): DomainError {
  return new DomainError('BAD_REQUEST', 'The body is not valid UTF-8.');
}

/** @throws DomainError BAD_REQUEST as parseJson does */
export function parseText(text: string): unknown {
  const value = parsed(text);
  if (suspicious.test(text)) checkStrings(value);
  checkNumbers(text);
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const problem = jsonProblem(text);
    throw new DomainError('BAD_REQUEST', `The body is not valid JSON${problem === null ? '' : ` ${problem}`}.`);
  }
}
