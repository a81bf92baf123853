// How the values of settings are spelled: durations, limits, lists, addresses; each says what would be right.

import { z } from 'zod';

import { attemptsKeptMax } from '../domain/attempts.ts';
import type { RateLimit } from '../domain/tenant.ts';

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `500ms`, `15s`, `2m`, `1h`, `30d`; null when it is spelled otherwise. */
function durationMs(text: string): number | null {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text.trim());
  const unit = unitsMs[match?.[2] ?? ''];
  return match === null || unit === undefined ? null : Number(match[1]) * unit;
}

export const duration = z.string().transform((text, context) => {
  const ms = durationMs(text);
  if (ms !== null && ms > 0) return ms;
  context.addIssue({ code: 'custom', message: 'should be a number and a unit, such as 500ms, 15s, 2m or 1h' });
  return z.NEVER;
});

/** What is kept for a shorter time would be gone before anybody has looked at it. */
const retentionMinMs = 10_000;

/** Milliseconds; null: for ever. */
export const retention = z.string().transform((text, context) => {
  const ms = text.trim() === 'forever' ? null : durationMs(text);
  if ((ms !== null && ms >= retentionMinMs) || text.trim() === 'forever') return ms;
  context.addIssue({ code: 'custom', message: 'should be forever, or at least 10s, such as 30d' });
  return z.NEVER;
});

export const durations = z.string().transform((text, context) => {
  const all = list(text).map(durationMs);
  if (all.length < attemptsKeptMax && all.every((ms) => ms !== null)) return all;
  const message = `should be durations with commas between them, such as 1s,2s,4s; at most ${attemptsKeptMax - 1}`;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

export const rateLimit = z.string().transform((text, context): RateLimit => {
  const [limit = '', window = ''] = text.split('/');
  const windowMs = durationMs(window);
  if (/^[1-9]\d{0,8}$/.test(limit) && windowMs !== null && windowMs >= 1000) return { limit: Number(limit), windowMs };
  context.addIssue({ code: 'custom', message: 'should be requests/window, such as 100/10s; the window at least 1s' });
  return z.NEVER;
});

export const providerUrls = z.string().transform((text, context) => {
  const parsed = z.record(z.string(), z.url({ protocol: /^https?$/ })).safeParse(json(text));
  if (parsed.success) return parsed.data;
  context.addIssue({
    code: 'custom',
    message: 'should be JSON of provider names and base URLs, such as {"resend":"http://127.0.0.1:9000"}',
  });
  return z.NEVER;
});

export const port = z
  .string()
  .regex(/^\d{1,5}$/, 'should be a port number, 0 to 65535 (0 takes a free one)')
  .transform(Number)
  .pipe(z.number().max(65_535, 'should be at most 65535'));
export const cidr = z.union([z.cidrv4(), z.cidrv6()], {
  error: 'should be networks in CIDR form with commas between them, such as 127.0.0.1/32',
});
export const origin = z
  .string()
  .regex(/^https?:\/\/[^/\s]+$/, 'should be origins with commas between them, such as https://dashboard.example.com');

/** Of an address in a mail's header, whose line has 998 characters at most (RFC 5322 2.1.1), a third of which this may take. */
const publicUrlMax = 300;

/** Without a slash at its end. */
export const publicUrl = z
  .string()
  .max(publicUrlMax, `should have at most ${publicUrlMax} characters`)
  .regex(
    /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/,
    'should be a URL such as https://herald.example.com, without a query',
  )
  .refine((text) => URL.canParse(text), 'should be a URL such as https://herald.example.com')
  .transform((text) => text.replace(/\/+$/, ''));

const algorithms = ['RS256', 'ES256'] as const;

/** Asymmetric ones alone: no other is ever taken. */
export const tokenAlgorithms = z
  .string()
  .transform(list)
  .pipe(z.array(z.enum(algorithms, 'should be RS256, ES256 or both, with a comma between them')).min(1));

export const flag = z.enum(['true', 'false'], 'should be true or false').transform((text) => text === 'true');
export const brokers = z
  .string()
  .transform(list)
  .pipe(z.array(z.string().regex(/^[^\s:/]+:\d{1,5}$/, 'should be host:port with commas between them')).min(1));
export const urlOf = (protocol: RegExp, example: string) =>
  z.url({ protocol, error: `should be a URL such as ${example}` });

export function list(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** There is nothing that a fifth would do. */
export const threads = z
  .string()
  .regex(/^(auto|2|3|4)$/, 'should be auto, 2, 3 or 4')
  .transform((text): 'auto' | number => (text === 'auto' ? text : Number(text)));
