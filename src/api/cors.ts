// CORS for the dashboard's routes: pages of the listed origins may call them, no others.

import type { IncomingMessage, ServerResponse } from 'node:http';

import { idempotencyKeyHeader, idempotentReplayedHeader } from './idempotency-key.ts';
import { asOfHeader, settingsAsOfHeader } from './look-back.ts';
import { afterPositionHeader, eventPositionHeader } from './position.ts';
import { streamPositionHeader } from './stream-position.ts';

export type Cors = ReturnType<typeof createCors>;

export function createCors(origins: readonly string[]) {
  const allowed = new Set(origins);
  return (req: IncomingMessage, res: ServerResponse, methods: string): void => {
    res.setHeader('vary', 'Origin');
    const { origin } = req.headers;
    if (origin === undefined || !allowed.has(origin)) return;
    res.setHeader('access-control-allow-origin', origin);
    if (req.method !== 'OPTIONS') {
      res.setHeader('access-control-expose-headers', told);
      return;
    }
    res.setHeader('access-control-allow-methods', methods);
    res.setHeader('access-control-allow-headers', asked);
    res.setHeader('access-control-max-age', preflightSeconds);
  };
}

const preflightSeconds = 600;

/** What a page may send. */
const asked = [
  'authorization',
  'content-type',
  'last-event-id',
  'traceparent',
  'tracestate',
  'baggage',
  afterPositionHeader,
  idempotencyKeyHeader,
].join(', ');

/** What it may read of an answer. */
const told = [
  eventPositionHeader,
  asOfHeader,
  settingsAsOfHeader,
  streamPositionHeader,
  idempotentReplayedHeader,
  'x-request-id',
  'retry-after',
  'ratelimit',
  'ratelimit-policy',
  'www-authenticate',
  'location',
  'link',
].join(', ');
