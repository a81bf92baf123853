// The options of herald send, show and tail.

import { parseArgs } from 'node:util';

import { channels, priorities } from '../../domain/events.ts';
import { nearMiss } from '../../domain/near-miss.ts';
import { statuses } from '../../domain/notification.ts';
import { UsageError } from '../usage-error.ts';
import { createClient } from './client.ts';
import { sendNotification } from './send.ts';
import { fieldOptions, requestText } from './send-request.ts';
import { showNotification } from './show.ts';
import { tailChanges } from './tail.ts';

const target = { url: { type: 'string' }, key: { type: 'string' }, token: { type: 'string' } } as const;

/** The exit code is 1 when it was to be delivered and isn't. */
export async function send(args: string[]): Promise<void> {
  const own = {
    'body-file': { type: 'string' },
    'idempotency-key': { type: 'string' },
    wait: { type: 'boolean' },
    timeout: { type: 'string' },
  } as const;
  const { values } = parseArgs({ args, options: { ...target, ...fieldOptions, ...own } });
  const {
    url,
    key,
    token,
    'body-file': bodyFile,
    'idempotency-key': idempotencyKey,
    wait,
    timeout,
    ...fields
  } = values;
  if (timeout !== undefined && wait !== true) throw new UsageError('--timeout: is of --wait');
  const timeoutMs = timeout === undefined ? null : secondsOf(timeout) * 1000;
  const client = createClient({ url, key, token });
  const body = await requestText(fields, bodyFile);
  const follow = wait === true ? 'until it has ended' : 'no';
  const isDelivered = await sendNotification(client, { body, idempotencyKey, follow, timeoutMs });
  if (!isDelivered) process.exitCode = 1;
}

export async function show(args: string[]): Promise<void> {
  const options = { ...target, json: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const { json, ...credentials } = values;
  const [id] = positionals;
  if (id === undefined || positionals.length > 1) throw new UsageError('show: name one notification: herald show ID');
  await showNotification(createClient(credentials), { id, format: json === true ? 'json' : 'text' });
}

export async function tail(args: string[]): Promise<void> {
  const several = { type: 'string', multiple: true } as const;
  const filters = { channel: several, status: several, priority: several, recipient: several };
  const { values } = parseArgs({ args, options: { ...target, ...filters, json: { type: 'boolean' } } });
  const { channel, status, priority, recipient = [], json, ...credentials } = values;
  const filter = {
    channels: namesOf('--channel', channel, channels),
    statuses: namesOf('--status', status, statuses),
    priorities: namesOf('--priority', priority, priorities),
    recipients: recipient,
  };
  await tailChanges(createClient(credentials), { filter, format: json === true ? 'json' : 'text' });
}

/** In any case, with a hyphen or a line below, commas between them. @throws UsageError */
function namesOf<T extends string>(option: string, given: readonly string[] | undefined, known: readonly T[]): T[] {
  return (given ?? [])
    .flatMap((text) => text.split(','))
    .map((text) => {
      const name = known.find((one) => one === text.trim().toUpperCase().replaceAll('-', '_'));
      if (name !== undefined) return name;
      const meant = nearMiss(text, known);
      throw new UsageError(
        `${option}: there is no ${text}; ${meant === null ? `these are: ${known.join(', ')}` : `did you mean ${meant}?`}`,
      );
    });
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= 86_400))
    throw new UsageError('--timeout: should be a number of seconds, at most 86400');
  return seconds;
}
