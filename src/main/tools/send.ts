// herald send: a notification of fields or of a whole JSON body; its id on stdout, and on request what becomes of it.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { StartError } from '../start-error.ts';
import type { Client } from './client.ts';
import { patiently, Unreachable } from './client.ts';
import { attemptText } from './notification-text.ts';
import type { NotificationRecord } from './notification-text.ts';
import { coloured, printable } from './printable.ts';

interface SendOptions {
  /** The whole request, JSON text. */
  readonly body: string;
  /** Absent: one of its own. */
  readonly idempotencyKey: string | undefined;
  readonly follow: 'no' | 'until it has ended';
  /** null: however long it takes. */
  readonly timeoutMs: number | null;
}

/** Beyond it there is no other try to send. */
const sendMaxMs = 30_000;
/** What is asked for again: soon at first, every 2 s later. */
const lookMinMs = 100;
const lookMaxMs = 2000;

/** Whether it was delivered, as far as it was asked for. @throws StartError */
export async function sendNotification(client: Client, options: SendOptions): Promise<boolean> {
  const { follow, timeoutMs } = options;
  const id = await accepted(client, options);
  process.stdout.write(`${printable(id)}\n`);
  if (follow === 'no') return true;
  const until = timeoutMs === null ? Infinity : performance.now() + timeoutMs;
  return (await ended(client, id, until)).status === 'DELIVERED';
}

/** The same key however often it is sent: where the answer was lost it is asked for again, and nothing is sent twice. */
async function accepted(client: Client, { body, idempotencyKey = randomUUID() }: SendOptions): Promise<string> {
  const headers = { 'idempotency-key': idempotencyKey };
  const ask = () =>
    client
      .call<{ readonly notificationId: string }>('POST', '/notify', 'key', { body, headers })
      .catch((error: unknown) => {
        throw error instanceof Unreachable && !error.wasSent ? new StartError(error.message) : error;
      });
  return (await patiently(ask, performance.now() + sendMaxMs, say)).notificationId;
}

function say(sentence: string): void {
  process.stderr.write(`-- ${sentence}\n`);
}

const ends: ReadonlySet<string> = new Set(['DELIVERED', 'FAILED', 'CANCELLED']);

/** Tells each change on the way. */
async function ended(client: Client, id: string, until: number): Promise<NotificationRecord> {
  let told = '';
  for (let waitMs = lookMinMs; ; waitMs = Math.min(waitMs * 1.5, lookMaxMs)) {
    const record = await looked(client, id, until);
    const text = changeText(record);
    if (text !== told) process.stdout.write(`${text}\n`);
    told = text;
    if (ends.has(record.status)) return record;
    if (performance.now() + waitMs > until)
      throw new StartError(
        `It has not ended in time, it is ${record.status}: herald show ${id} tells what becomes of it.`,
      );
    await sleep(waitMs);
  }
}

/** It is accepted: what doesn't answer now is asked again. */
async function looked(client: Client, id: string, until: number): Promise<NotificationRecord> {
  const ask = () => client.call<{ readonly notification: NotificationRecord }>('GET', `/notify/${id}`, 'key');
  return (await patiently(ask, until, say)).notification;
}

function changeText({ status, updatedAt, attempts: [last], nextRetryAt }: NotificationRecord): string {
  const isOver = last !== undefined && status !== 'PROCESSING';
  const next =
    status === 'RETRYING' && nextRetryAt !== null && last?.nextRetryAt === null ? `; again at ${nextRetryAt}` : '';
  return `${updatedAt}  ${coloured(status)}${isOver ? `  ${attemptText(last)}` : ''}${next}`;
}
