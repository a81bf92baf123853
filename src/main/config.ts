// Every setting: one environment variable each, read here alone, checked before anything starts.

import { z } from 'zod';

import type { RateLimit } from '../domain/tenant.ts';

const roles = ['api', 'dispatcher', 'projector', 'scheduler'] as const;
export type Role = (typeof roles)[number];
export const allRoles: readonly Role[] = roles;

/** What is wrong with the settings, a line each that begins with the variable's name. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds of `500ms`, `15s`, `2m`, `1h`; null when it is spelled otherwise. */
function durationMs(text: string): number | null {
  const match = /^(\d{1,9})(ms|s|m|h)$/.exec(text.trim());
  const unit = unitsMs[match?.[2] ?? ''];
  return match === null || unit === undefined ? null : Number(match[1]) * unit;
}

const duration = z.string().transform((text, context) => {
  const ms = durationMs(text);
  if (ms !== null && ms > 0) return ms;
  context.addIssue({ code: 'custom', message: 'should be a number and a unit, such as 500ms, 15s, 2m or 1h' });
  return z.NEVER;
});

const durations = z.string().transform((text, context) => {
  const all = list(text).map(durationMs);
  if (all.every((ms) => ms !== null)) return all;
  context.addIssue({ code: 'custom', message: 'should be durations with commas between them, such as 1s,2s,4s' });
  return z.NEVER;
});

const rateLimit = z.string().transform((text, context): RateLimit => {
  const [limit = '', window = ''] = text.split('/');
  const windowMs = durationMs(window);
  if (/^[1-9]\d{0,8}$/.test(limit) && windowMs !== null && windowMs >= 1000) return { limit: Number(limit), windowMs };
  context.addIssue({ code: 'custom', message: 'should be requests/window, such as 100/10s; the window at least 1s' });
  return z.NEVER;
});

const providerUrls = z.string().transform((text, context) => {
  const parsed = z.record(z.string(), z.url({ protocol: /^https?$/ })).safeParse(json(text));
  if (parsed.success) return parsed.data;
  context.addIssue({
    code: 'custom',
    message: 'should be JSON of provider names and base URLs, such as {"resend":"http://127.0.0.1:9000"}',
  });
  return z.NEVER;
});

const port = z
  .string()
  .regex(/^\d{1,5}$/, 'should be a port number, 0 to 65535 (0 takes a free one)')
  .transform(Number)
  .pipe(z.number().max(65_535, 'should be at most 65535'));
const cidr = z.union([z.cidrv4(), z.cidrv6()], {
  error: 'should be networks in CIDR form with commas between them, such as 127.0.0.1/32',
});
const origin = z
  .string()
  .regex(/^https?:\/\/[^/\s]+$/, 'should be origins with commas between them, such as https://dashboard.example.com');

/** One row per variable: what reads it, its default (null: none), what it is for. `secret` values are never printed. */
const variables = {
  NODE_ENV: {
    schema: z.string(),
    fallback: 'development',
    about: 'production: no demo tenant, no banner, no made-up secrets',
  },
  HOST: {
    schema: z.string().min(1),
    fallback: '127.0.0.1',
    about: 'address to listen on; 0.0.0.0 for every interface',
  },
  PORT: { schema: port, fallback: '3000', about: 'port of the API; 0 takes a free one' },
  OPS_PORT: { schema: port, fallback: '9464', about: 'port of health and metrics; 0 takes a free one' },
  DATA_DIR: {
    schema: z.string().min(1),
    fallback: './data',
    about: 'folder of the log, the read models and the settings',
  },
  ENCRYPTION_SECRET: {
    schema: z.string().min(32, 'should be at least 32 characters'),
    fallback: null,
    about: 'seals provider keys and API keys at rest; made and kept in DATA_DIR outside production',
    secret: true,
  },
  AUTH_JWKS_URL: {
    schema: z.url({ protocol: /^https?$/, error: 'should be an http(s) URL' }),
    fallback: null,
    about: "the identity provider's keys; without it, and outside production, Herald issues tokens itself",
  },
  AUTH_ISSUER: { schema: z.string().min(1), fallback: null, about: 'the `iss` of bearer tokens' },
  AUTH_AUDIENCE: { schema: z.string().min(1), fallback: null, about: 'the `aud` of bearer tokens' },
  AUTH_TENANT_CLAIM: {
    schema: z.string().min(1),
    fallback: 'sub',
    about: 'the claim of a bearer token that names its tenant',
  },
  CORS_ORIGINS: {
    schema: z.string().transform(list).pipe(z.array(origin)),
    fallback: '',
    about: 'origins whose pages may call the dashboard routes, commas between them',
  },
  RATE_LIMIT: { schema: rateLimit, fallback: '100/10s', about: 'POST /notify per tenant: requests/window' },
  RETRY_DELAYS: {
    schema: durations,
    fallback: null,
    about: "replaces every channel's retry table, no jitter: 1s,2s,4s makes 4 attempts",
  },
  ATTEMPT_DEADLINE: { schema: duration, fallback: '15s', about: 'an attempt still in flight then is cut and retried' },
  OUTBOUND_ALLOW: {
    schema: z.string().transform(list).pipe(z.array(cidr)),
    fallback: '',
    about: 'networks exempt from the address guard, http allowed there, commas between them',
  },
  PROVIDER_URLS: { schema: providerUrls, fallback: '{}', about: 'other base addresses for providers, as JSON' },
  LOG_LEVEL: {
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent'], 'should be debug, info, warn, error or silent'),
    fallback: 'info',
    about: 'least level of the logs on stderr',
  },
} as const satisfies Record<string, Variable>;

interface Variable {
  readonly schema: z.ZodType<unknown, string>;
  readonly fallback: string | null;
  readonly about: string;
  readonly secret?: boolean;
}

type Name = keyof typeof variables;
type Value<K extends Name> =
  | z.output<(typeof variables)[K]['schema']>
  | ((typeof variables)[K]['fallback'] extends null ? null : never);

/** The settings by their variables' names; durations in ms. */
export type Config = { readonly [K in Name]: Value<K> } & { readonly isProduction: boolean };

/** @throws ConfigError naming every variable that is wrong or missing */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, { schema, fallback }] of Object.entries<Variable>(variables)) {
    const text = given(environment, name) ?? fallback;
    const parsed = text === null ? null : schema.safeParse(text);
    if (parsed?.success === false) problems.push(`${name}: ${parsed.error.issues[0]?.message ?? 'is not valid'}`);
    values[name] = parsed?.data ?? null;
  }
  const isProduction = values['NODE_ENV'] === 'production';
  problems.push(...missing(environment, isProduction));
  if (problems.length > 0) throw new ConfigError(problems);
  return { ...values, isProduction } as Config;
}

/** Every variable with its value, its default and what it is for; secrets are not shown. */
export function describeConfig(environment: Readonly<Record<string, string | undefined>> = process.env) {
  return Object.entries<Variable>(variables).map(([name, { fallback, about, secret }]) => {
    const text = given(environment, name);
    return {
      name,
      value: text !== undefined && secret === true ? '(set)' : (text ?? ''),
      fallback: fallback ?? '',
      about,
    };
  });
}

const authentication = ['AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE'];

function missing(environment: Readonly<Record<string, string | undefined>>, isProduction: boolean): string[] {
  const absent = (name: string) => given(environment, name) === undefined;
  if (isProduction) {
    return ['ENCRYPTION_SECRET', ...authentication]
      .filter(absent)
      .map((name) => `${name}: is required in production, where nothing is made up`);
  }
  if (authentication.every(absent)) return [];
  return authentication
    .filter(absent)
    .map((name) => `${name}: is required together with ${authentication.filter((n) => n !== name).join(' and ')}`);
}

/** An empty variable counts as one that isn't set. */
function given(environment: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  const text = environment[name];
  return text === undefined || text.trim() === '' ? undefined : text;
}

function list(text: string): string[] {
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
