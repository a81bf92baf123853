// The options of herald tenants set.

import { parseArgs } from 'node:util';

import type { TenantId } from '../domain/ids.ts';
import type { TenantShare } from '../domain/tenant.ts';
import { tenantInFlightMax, weightMax } from '../domain/tenant.ts';
import { retention } from './config-values.ts';
import type { TenantSetting } from './tenants.ts';
import { UsageError } from './usage-error.ts';

const options = {
  weight: { type: 'string' },
  'in-flight': { type: 'string' },
  retention: { type: 'string' },
} as const;

/** @throws UsageError */
export function tenantSettingOf(args: readonly string[]): { readonly id: TenantId; readonly given: TenantSetting } {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [verb, id, ...more] = positionals;
  if (verb !== 'set' || id === undefined || more.length > 0)
    throw new UsageError('tenants: should be: tenants set ID [--weight 3] [--in-flight 64] [--retention 30d]');
  if (Object.keys(values).length === 0)
    throw new UsageError('tenants set: --weight, --in-flight or --retention says what is to be set');
  const share = shareOf(values.weight, values['in-flight']);
  return { id: id as TenantId, given: { ...share, ...keptOf(values.retention) } };
}

function shareOf(weight: string | undefined, inFlight: string | undefined): Partial<TenantShare> {
  return {
    ...(weight === undefined ? {} : { weight: wholeOf('--weight', weight, weightMax) }),
    ...(inFlight === undefined
      ? {}
      : { inFlightMax: inFlight === 'default' ? null : wholeOf('--in-flight', inFlight, tenantInFlightMax) }),
  };
}

function keptOf(text: string | undefined): { readonly keptMs?: number | null } {
  if (text === undefined) return {};
  if (text === 'default') return { keptMs: null };
  const kept = retention.safeParse(text);
  if (kept.success && kept.data !== null) return { keptMs: kept.data };
  throw new UsageError('--retention: should be at least 10s, such as 30d, or default');
}

function wholeOf(option: string, text: string, max: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new UsageError(`${option}: should be a whole number from 1 to ${max}`);
  return value;
}
