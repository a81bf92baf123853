// Passes kafkajs' own log on to ours: chatty by nature, so the same complaint is a warning once a minute and debug in between.

import { logLevel as levels, type logCreator } from 'kafkajs';

import type { Logger } from '../../ports/logger.ts';

/** The same complaint again within so long is debug. */
const quietMs = 60_000;
/** Complaints that are remembered; past it all are forgotten and warned of anew. */
const complaintsMax = 200;
/** Of kafkajs' extra fields these alone: the rest is bulk, or may hold what isn't ours to log. */
const fieldsKept = ['broker', 'error', 'groupId', 'memberId', 'topic', 'partition', 'retryCount'];

/** kafkajs' debug lines are left out at the source: there are several for each request. */
export const kafkaLogLevel = levels.INFO;

export function createKafkaLog(logger: Logger, monotonic: () => number = () => performance.now()): logCreator {
  const warnedAt = new Map<string, number>();

  const isNew = (complaint: string): boolean => {
    const at = warnedAt.get(complaint);
    if (at !== undefined && monotonic() - at < quietMs) return false;
    if (warnedAt.size >= complaintsMax) warnedAt.clear();
    warnedAt.set(complaint, monotonic());
    return true;
  };

  return () =>
    ({ namespace, level, log }) => {
      const { message } = log;
      const extra: Record<string, unknown> = log;
      const fields: Record<string, unknown> = { of: namespace };
      for (const name of fieldsKept) if (extra[name] !== undefined) fields[name] = shown(extra[name]);
      // Numbers tell retries of one complaint apart; without them they are one.
      const isComplaint = (level === levels.ERROR || level === levels.WARN) && !isAnswer(message);
      const complaint = `${namespace} ${message} ${shown(extra['broker'] ?? '')}`.replaceAll(/\d{5,}/g, '#');
      if (isComplaint && isNew(complaint)) logger.warn(`kafka: ${message}`, fields);
      else logger.debug(`kafka: ${message}`, fields);
    };
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A broker's answer that says no: whoever asked deals with it. */
function isAnswer(message: string): boolean {
  return message.startsWith('Response ');
}
