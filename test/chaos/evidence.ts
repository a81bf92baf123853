// What a failure leaves behind: log lines of the processes, and what the event log holds of a notification.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { openKafkaEventLog } from '../../src/adapters/kafka/event-log.ts';
import { createClock } from '../../src/adapters/node/clock.ts';
import { createCodec } from '../../src/codec/index.ts';
import { deliveriesTopic, workTopics } from '../../src/domain/topics.ts';
import { eventLogShape } from '../../src/main/event-log-shape.ts';
import { engines } from '../support/engines.ts';
import type { AttemptLine } from './repeats.ts';

export interface LogLine {
  /** UTC ms. */
  readonly at: number;
  readonly process: string;
  readonly level: number;
  readonly msg: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** pino's. */
export const warnLevel = 40;

/** Of all processes, by time. A line that a kill has cut is left out. */
export async function readLogLines(folder: string): Promise<readonly LogLine[]> {
  const lines: LogLine[] = [];
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.log')) continue;
    const process = file.slice(0, -'.log'.length);
    for (const text of (await readFile(join(folder, file), 'utf8')).split('\n')) {
      const line = parsed(process, text);
      if (line !== null) lines.push(line);
    }
  }
  return lines.toSorted((one, other) => one.at - other.at);
}

function parsed(process: string, text: string): LogLine | null {
  try {
    const { time, level, msg, ...fields } = JSON.parse(text) as Record<string, unknown>;
    return { at: Date.parse(String(time)), process, level: Number(level), msg: String(msg), fields };
  } catch {
    return text.trim() === '' || text.startsWith('{')
      ? null
      : { at: 0, process, level: warnLevel, msg: text, fields: {} };
  }
}

/** By notification id. */
export function attemptLines(lines: readonly LogLine[]): ReadonlyMap<string, readonly AttemptLine[]> {
  const byId = new Map<string, AttemptLine[]>();
  for (const { at, process, msg, fields } of lines) {
    if (msg !== 'attempt') continue;
    const id = String(fields['notificationId']);
    const attempt = Number(fields['attempt']);
    const [tookMs, outcome] = [Number(fields['tookMs']), String(fields['outcome'])];
    const retryAt = outcome === 'retrying' ? Number(fields['retryAt']) : null;
    byId.set(id, [...(byId.get(id) ?? []), { at, process, attempt, tookMs, outcome, retryAt }]);
  }
  return byId;
}

export interface LoggedEvent {
  readonly at: number;
  readonly told: string;
}

/** What the topics of work and deliveries hold, by notification id, for the ids asked for; in the order of their appending. */
export async function loggedEvents(
  prefix: string,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly LoggedEvent[]>> {
  const { kafkaBrokers, registryUrl } = engines();
  const log = await openKafkaEventLog({
    settings: { brokers: kafkaBrokers, prefix, clientId: 'chaos', tls: null, sasl: null, replication: null },
    registryUrl,
    shape: eventLogShape,
    codec: createCodec(),
    clock: createClock(),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const found = new Map<string, LoggedEvent[]>();
  try {
    for (const topic of [...workTopics, deliveriesTopic]) {
      for (let partition = 0; partition < log.partitioning.partitions; partition++) {
        for await (const { event, offset, appendedAt } of log.read({ topic, partition, from: 0, to: Infinity })) {
          if (event === null || !('notificationId' in event) || !ids.has(event.notificationId)) continue;
          const attempt = 'attempt' in event ? ` attempt ${event.attempt}` : '';
          const told = `${new Date(appendedAt).toISOString()} ${topic}/${partition}@${offset} ${event.type}${attempt}`;
          found.set(event.notificationId, [...(found.get(event.notificationId) ?? []), { at: appendedAt, told }]);
        }
      }
    }
  } finally {
    await log.close();
  }
  for (const [id, events] of found)
    found.set(
      id,
      events.toSorted((one, other) => one.at - other.at),
    );
  return found;
}
