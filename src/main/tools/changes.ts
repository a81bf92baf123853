// Changes of notifications' statuses as herald tail shows them, and which of them are wanted.

import type { Channel, Priority } from '../../domain/events.ts';
import type { Status } from '../../domain/notification.ts';
import { coloured, dim, printable } from './printable.ts';

export interface Change {
  readonly notificationId: string;
  readonly status: Status;
  readonly channel: Channel;
  readonly recipient: string;
  readonly error: string | null;
  /** ISO 8601. */
  readonly timestamp: string;
}

/** Empty: all. */
export interface ChangeFilter {
  readonly channels: readonly Channel[];
  readonly statuses: readonly Status[];
  readonly priorities: readonly Priority[];
  readonly recipients: readonly string[];
}

export type Format = 'text' | 'json';

/** Says on stderr what the changes themselves don't. */
export type Say = (sentence: string) => void;

/** Its priority is another question: a change doesn't carry it. */
export function isWanted({ channels, statuses, recipients }: ChangeFilter, change: Change): boolean {
  return has(channels, change.channel) && has(statuses, change.status) && has(recipients, change.recipient);
}

export function has<T>(wanted: readonly T[], value: T): boolean {
  return wanted.length === 0 || wanted.includes(value);
}

export function changeLine(change: Change, format: Format): string {
  if (format === 'json') return `${JSON.stringify(change)}\n`;
  const { timestamp, status, channel, recipient, notificationId, error } = change;
  const cause = error === null ? '' : `  ${printable(error)}`;
  return `${dim(printable(timestamp))}  ${coloured(status, printable(status).padEnd(statusLength))}  ${printable(`${channel.padEnd(channelLength)}  ${notificationId}  ${recipient}`)}${cause}\n`;
}

/** PROCESSING, WEBHOOK. */
const statusLength = 10;
const channelLength = 7;
