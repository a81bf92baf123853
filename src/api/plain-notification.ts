// Tells the notification that nearly all are, of common fields that are of their types, without the schema, which takes three times as long.

import { channels, priorities } from '../domain/events.ts';
import type { NotificationFields } from './notification-request.ts';

/**
 * Whether the schema would give back exactly this; false says nothing: the schema is to be asked, and says what is wrong.
 * @param body as JSON.parse made it
 */
export function isPlain(body: unknown): body is NotificationFields {
  if (!isObject(body)) return false;
  for (const name of Object.keys(body)) if (!isPlainField(name, body[name])) return false;
  return body['channel'] !== undefined && body['recipient'] !== undefined;
}

function isPlainField(name: string, value: unknown): boolean {
  switch (name) {
    case 'recipient':
    case 'subject':
    case 'body':
      return typeof value === 'string';
    case 'channel':
      return isOneOf(channels, value);
    case 'priority':
      return isOneOf(priorities, value);
    case 'template':
      return typeof value === 'string' && value !== '';
    case 'data':
    case 'metadata':
      return isObject(value);
    default:
      return false;
  }
}

function isOneOf(names: readonly string[], value: unknown): boolean {
  return typeof value === 'string' && names.includes(value);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
