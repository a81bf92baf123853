// Every setting: one environment variable each, read here alone, checked before anything starts.

import { z } from 'zod';

import {
  cidr,
  duration,
  durations,
  list,
  origin,
  port,
  providerUrls,
  publicUrl,
  rateLimit,
  threads,
} from './config-values.ts';
import type { Variable } from './config-engines.ts';
import { engineVariables } from './config-engines.ts';
import { noIssuer, signInVariables } from './config-sign-in.ts';
import { forgottenTooSoon, retentionVariables } from './config-retention.ts';

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

/** To try things out: receivers and mail servers on this machine. */
const loopback = '127.0.0.0/8,::1/128';

/** One row per variable: what reads it, its default (null: none), what it is for. `secret` values are never printed. */
const variables = {
  NODE_ENV: {
    // Anything else might be meant to be production, and would be a demo tenant under a secret that was made up.
    schema: z
      .string()
      .trim()
      .pipe(z.enum(['production', 'development', 'test'], 'should be production, development or test')),
    fallback: 'development',
    about: 'production: no demo tenant, no banner, no made-up secrets; otherwise development or test',
  },
  HOST: {
    schema: z.string().min(1),
    fallback: '127.0.0.1',
    about: 'address to listen on; 0.0.0.0 for every interface',
  },
  PORT: { schema: port, fallback: '3000', about: 'port of the API; 0 takes a free one' },
  OPS_PORT: { schema: port, fallback: '9464', about: 'port of health and metrics; 0 takes a free one' },
  PUBLIC_URL: {
    schema: publicUrl,
    fallback: null,
    about:
      'where the world reaches the API, such as https://herald.example.com: begins the addresses in mails and those that providers report to. Outside production, without it, where it listens',
  },
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
  ENCRYPTION_SECRET_PREVIOUS: {
    schema: z.string().min(32, 'should be at least 32 characters'),
    fallback: null,
    about: 'opens what it has sealed, until rotate-secrets has sealed all of it under ENCRYPTION_SECRET',
    secret: true,
  },
  ...signInVariables,
  HSTS_MAX_AGE: {
    schema: duration,
    fallback: null,
    about:
      'sends Strict-Transport-Security with this age, such as 8760h; not sent without it: it is for whoever ends TLS to say',
  },
  CORS_ORIGINS: {
    schema: z.string().transform(list).pipe(z.array(origin)),
    fallback: '',
    about: 'origins whose pages may call the dashboard routes, commas between them',
  },
  CONNECTIONS_PER_ADDRESS: {
    schema: z
      .string()
      .regex(/^[1-9]\d{0,5}$/, 'should be a whole number from 1 to 999999')
      .transform(Number),
    fallback: '1500',
    about: 'connections of one address (of IPv6: one /64); where a trusted proxy names it, requests at once',
  },
  TRUSTED_PROXIES: {
    schema: z
      .string()
      .transform(list)
      .pipe(z.array(cidr.refine((network) => !network.endsWith('/0'), 'should not trust every address'))),
    fallback: '',
    about: 'networks of the proxies before it, whose X-Forwarded-For is believed, commas between them',
  },
  RATE_LIMIT: {
    schema: rateLimit,
    fallback: '100/10s',
    about: 'what sends (POST /notify, retries, tests of providers), per tenant: requests/window',
  },
  ITEM_LIMIT: {
    schema: rateLimit,
    fallback: '10000/10s',
    about: 'items of batches (POST /notify/batch), per tenant: items/window; a batch is one request of RATE_LIMIT',
  },
  // 0.4 KiB a key: 400 MiB of a tenant. RATE_LIMIT lets 864,000 requests of one through in 24 h, ITEM_LIMIT 86 million items.
  KEY_LIMIT: {
    schema: rateLimit,
    fallback: '1000000/24h',
    about: 'new Idempotency-Keys of requests and of items of batches, per tenant: keys/window; each is kept for 24 h',
  },
  READ_LIMIT: {
    schema: rateLimit,
    fallback: '1000/10s',
    about: 'what reads (GETs, beginnings of streams), per tenant: requests/window',
  },
  RETRY_DELAYS: {
    schema: durations,
    fallback: null,
    about: "replaces every channel's retry table, no jitter: 1s,2s,4s makes 4 attempts",
  },
  ATTEMPT_DEADLINE: { schema: duration, fallback: '15s', about: 'an attempt still in flight then is cut and retried' },
  ...retentionVariables,
  THREADS: {
    schema: threads,
    fallback: 'auto',
    about:
      "threads of a process: 2 (main, projectors), 3 (dispatchers in one of their own) or 4 (and one that makes events of batches' items); auto: as many as there are cores for, where it accepts as well",
  },
  OUTBOUND_ALLOW: {
    schema: z.string().transform(list).pipe(z.array(cidr)),
    fallback: loopback,
    inProduction: '',
    about:
      'networks exempt from the address guard, http allowed there, commas between them; in production none unless set',
  },
  PROVIDER_URLS: { schema: providerUrls, fallback: '{}', about: 'other base addresses for providers, as JSON' },
  ...engineVariables,
  LOG_LEVEL: {
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent'], 'should be debug, info, warn, error or silent'),
    fallback: 'info',
    about: 'least level of the logs on stderr',
  },
} as const satisfies Record<string, Variable>;

type Name = keyof typeof variables;
type Value<K extends Name> =
  | z.output<(typeof variables)[K]['schema']>
  | ((typeof variables)[K]['fallback'] extends null ? null : never);

/** The settings by their variables' names; durations in ms. */
export type Config = { readonly [K in Name]: Value<K> } & { readonly isProduction: boolean };

/** A config with the addresses of the engines that many processes share. */
export type ClusterConfig = Config & { readonly [K in (typeof clusterNames)[number]]: NonNullable<Config[K]> };

/** Whether receivers on this machine are let through because nothing else was said. */
export function letsLoopbackThrough({ isProduction, OUTBOUND_ALLOW: allowed }: Config): boolean {
  return !isProduction && allowed.join(',') === loopback;
}

export function isCluster(config: Config): config is ClusterConfig {
  return config.KAFKA_BROKERS !== null;
}

/** @throws ConfigError naming every variable that is wrong or missing */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  const isProduction = isProductionIn(environment);
  for (const [name, variable] of Object.entries<Variable>(variables)) {
    const { schema } = variable;
    const text = given(environment, name) ?? fallbackOf(variable, isProduction);
    const parsed = text === null ? null : schema.safeParse(text);
    if (parsed?.success === false) problems.push(`${name}: ${parsed.error.issues[0]?.message ?? 'is not valid'}`);
    values[name] = parsed?.data ?? null;
  }
  problems.push(...insecure(values['PUBLIC_URL'], isProduction), ...noIssuer(values), ...forgottenTooSoon(values));
  problems.push(...missing(environment, isProduction), ...unusedTls(environment, values['KAFKA_TLS'] === true));
  if (problems.length > 0) throw new ConfigError(problems);
  return { ...values, isProduction } as Config;
}

/** Every variable with its value, its default and what it is for; secrets are not shown. */
export function describeConfig(environment: Readonly<Record<string, string | undefined>> = process.env) {
  const isProduction = isProductionIn(environment);
  return Object.entries<Variable>(variables).map(([name, variable]) => {
    const { about, secret } = variable;
    const fallback = fallbackOf(variable, isProduction);
    const text = given(environment, name);
    return {
      name,
      value: text !== undefined && secret === true ? '(set)' : (text ?? ''),
      fallback: fallback ?? '',
      about,
    };
  });
}

function isProductionIn(environment: Readonly<Record<string, string | undefined>>): boolean {
  return given(environment, 'NODE_ENV')?.trim() === 'production';
}

function fallbackOf({ fallback, inProduction }: Variable, isProduction: boolean): string | null {
  return isProduction ? (inProduction ?? fallback) : fallback;
}

const authentication = ['AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE'];
const clusterNames = ['KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'MONGODB_URL', 'REDIS_URL'] as const;
/** All of a group or none. */
const together: readonly (readonly string[])[] = [
  clusterNames,
  ['KAFKA_TLS_CERT', 'KAFKA_TLS_KEY'],
  ['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'],
];

function missing(environment: Readonly<Record<string, string | undefined>>, isProduction: boolean): string[] {
  const absent = (name: string) => given(environment, name) === undefined;
  const incomplete = (isProduction ? together : [authentication, ...together]).flatMap((group) =>
    group.every(absent)
      ? []
      : group
          .filter(absent)
          .map((name) => `${name}: is required together with ${group.filter((n) => n !== name).join(' and ')}`),
  );
  if (!isProduction) return incomplete;
  const required = ['ENCRYPTION_SECRET', ...authentication].filter(absent);
  return [...required.map((name) => `${name}: is required in production, where nothing is made up`), ...incomplete];
}

function insecure(publicUrl: unknown, isProduction: boolean): string[] {
  const isPlain = typeof publicUrl === 'string' && publicUrl.startsWith('http:');
  return isProduction && isPlain ? ['PUBLIC_URL: should begin with https:// in production: it stands in mails'] : [];
}

/** Rather than a connection in plain text that somebody took for another. */
function unusedTls(environment: Readonly<Record<string, string | undefined>>, hasTls: boolean): string[] {
  const names = hasTls ? [] : ['KAFKA_TLS_CA', 'KAFKA_TLS_CERT', 'KAFKA_TLS_KEY'];
  return names
    .filter((name) => given(environment, name) !== undefined)
    .map((name) => `${name}: is of no use without KAFKA_TLS=true`);
}

/** What the commands that speak to a Herald anywhere (send, show, tail) take in place of their options. */
export function readClientVariables(environment: Readonly<Record<string, string | undefined>> = process.env) {
  return {
    url: given(environment, 'HERALD_URL'),
    key: given(environment, 'HERALD_API_KEY'),
    token: given(environment, 'HERALD_TOKEN'),
  };
}

/** An empty variable counts as one that isn't set. */
function given(environment: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  const text = environment[name];
  return text === undefined || text.trim() === '' ? undefined : text;
}
