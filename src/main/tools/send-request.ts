// The request that herald send makes of its options: every field of POST /notify, as JSON text.

import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';

import { jsonProblem } from '../../api/json-problem.ts';
import { StartError } from '../start-error.ts';
import { UsageError } from '../usage-error.ts';

export const fieldOptions = {
  channel: { type: 'string' },
  recipient: { type: 'string' },
  template: { type: 'string' },
  subject: { type: 'string' },
  body: { type: 'string' },
  data: { type: 'string' },
  strict: { type: 'boolean' },
  priority: { type: 'string' },
  metadata: { type: 'string', multiple: true },
  'send-at': { type: 'string' },
  'expires-at': { type: 'string' },
  'ttl-seconds': { type: 'string' },
  'reply-to': { type: 'string' },
  cc: { type: 'string', multiple: true },
  bcc: { type: 'string', multiple: true },
  transactional: { type: 'boolean' },
} as const;

export type FieldName = keyof typeof fieldOptions;

export type Fields = { readonly [Name in FieldName]?: string | boolean | readonly string[] | undefined };

/** @throws UsageError for fields beside a file, or without the two that every request has; StartError for a file that can't be read */
export async function requestText(fields: Fields, bodyFile: string | undefined): Promise<string> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined) as [FieldName, FieldValue][];
  if (bodyFile === undefined) return textOf(given);
  const [first] = given;
  if (first !== undefined)
    throw new UsageError(`--${first[0]}: stands in the file of --body-file, or there is no --body-file`);
  return bodyFile === '-' ? text(process.stdin) : fileText(bodyFile);
}

type FieldValue = string | boolean | readonly string[];

async function fileText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new StartError(`--body-file: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function textOf(given: readonly [FieldName, FieldValue][]): string {
  for (const name of ['channel', 'recipient'])
    if (!given.some(([one]) => one === name))
      throw new UsageError(`--${name}: is required (herald send --help lists all)`);
  return `{${given.map(([name, value]) => `${JSON.stringify(camelCase(name))}:${jsonOf(name, value)}`).join(',')}}`;
}

function jsonOf(name: FieldName, value: FieldValue): string {
  const written = String(value);
  switch (name) {
    case 'channel':
    case 'priority':
      return JSON.stringify(written.toUpperCase().replaceAll('-', '_'));
    case 'data':
      return dataOf(written);
    case 'ttl-seconds':
      return wholeOf(name, written);
    case 'metadata':
      return JSON.stringify(Object.fromEntries((value as readonly string[]).map(pairOf)));
    default:
      return JSON.stringify(value);
  }
}

/** As it is written: a number of it that a double can't hold is for the service to refuse. */
function dataOf(written: string): string {
  const problem = jsonProblem(written);
  if (problem !== null) throw new UsageError(`--data: is not valid JSON ${problem}`);
  return written;
}

function wholeOf(name: string, written: string): string {
  if (!/^\d{1,15}$/.test(written)) throw new UsageError(`--${name}: should be a whole number`);
  return String(Number(written));
}

function pairOf(pair: string): [string, string] {
  const at = pair.indexOf('=');
  if (at < 1) throw new UsageError('--metadata: should be KEY=VALUE');
  return [pair.slice(0, at), pair.slice(at + 1)];
}

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
