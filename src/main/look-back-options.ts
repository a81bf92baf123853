// The options of what looks back, checked: serve --as-of, stats and compare.

import { parseArgs } from 'node:util';

import { UsageError } from './usage-error.ts';

/** A moment of the past, UTC ms. @throws UsageError naming the option */
function momentOf(option: string, text: string | undefined, now = Date.now()): number {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError(`${option}: should be an ISO 8601 time, like 2026-11-22T09:00:00Z`);
  if (time > now) throw new UsageError(`${option}: lies ahead of now, ${new Date(now).toISOString()}`);
  return time;
}

/** Of serve, as they were typed. */
export type AsOfValues = Readonly<Partial<Record<'as-of' | 'keep' | 'port' | 'role' | 'channel' | 'from', string>>>;

export interface AsOfOptions {
  /** UTC ms. */
  readonly asOf: number;
  /** A folder to fold into, or to open again. */
  readonly keep: string | null;
  /** 0: a free one. */
  readonly port: number;
}

/** @throws UsageError */
export function asOfOptions(values: AsOfValues): AsOfOptions {
  for (const name of ['role', 'channel', 'from'] as const)
    if (values[name] !== undefined) throw new UsageError(`--${name}: goes without --as-of, which only shows what was`);
  const { keep = null } = values;
  const port = Number(values.port ?? '0');
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new UsageError('--port: should be a whole number from 0 to 65535');
  return { asOf: momentOf('--as-of', values['as-of']), keep, port };
}

export interface StatsOptions {
  readonly asOf: number;
  readonly keep: string | null;
  readonly tenant: string;
  /** As in the query of GET /dashboard/stats. */
  readonly query: Readonly<Record<string, string>>;
}

/** @throws UsageError */
export function statsOptions(args: string[]): StatsOptions {
  const text = { type: 'string' } as const;
  const options = {
    'as-of': text,
    keep: text,
    tenant: text,
    range: text,
    from: text,
    to: text,
    channel: text,
    priority: text,
    provider: text,
    by: text,
  };
  const { 'as-of': asOf, keep = null, tenant, ...query } = parseArgs({ args, options }).values;
  if (tenant === undefined) throw new UsageError('--tenant: name the tenant by its id (tnt_...)');
  const { channel, priority } = query;
  return {
    asOf: momentOf('--as-of', asOf),
    keep,
    tenant,
    query: {
      ...query,
      ...(channel === undefined ? {} : { channel: channel.toUpperCase().replaceAll('-', '_') }),
      ...(priority === undefined ? {} : { priority: priority.toUpperCase() }),
    },
  };
}

export interface CompareOptions {
  readonly asOf: number;
  readonly keep: string | null;
  readonly with:
    | { readonly kind: 'live' }
    | { readonly kind: 'moment'; readonly asOf: number }
    | { readonly kind: 'folder'; readonly folder: string };
}

/** @throws UsageError */
export function compareOptions(args: string[]): CompareOptions {
  const options = { 'as-of': { type: 'string' }, with: { type: 'string' }, keep: { type: 'string' } } as const;
  const { 'as-of': asOf, with: other, keep = null } = parseArgs({ args, options }).values;
  if (other === undefined)
    throw new UsageError('--with: name another time, live (what the service shows now), or a folder that was kept');
  return { asOf: momentOf('--as-of', asOf), keep, with: otherOf(other) };
}

function otherOf(text: string): CompareOptions['with'] {
  if (text === 'live') return { kind: 'live' };
  // A folder may be named as a time begins: ./2026-11-22 is one.
  if (/^\d{4}-\d{2}/.test(text)) return { kind: 'moment', asOf: momentOf('--with', text) };
  return { kind: 'folder', folder: text };
}
