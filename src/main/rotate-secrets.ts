// herald rotate-secrets: seals everything that an earlier ENCRYPTION_SECRET has sealed anew under the one in use, while the service runs on both.
//
//   serve, old secret ──> serve, new secret + previous ──> rotate-secrets ──> serve, new secret alone

import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import { type Resealed, resealTenant } from '../commands/reseal-tenant.ts';
import { isSealedBefore } from '../commands/start-erasure.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import { allTenants } from '../replay/copy-settings.ts';
import { openJobsBeside } from './beside.ts';
import type { Config } from './config.ts';
import { openSettings } from './engines.ts';
import { createProgress } from './progress.ts';
import { secretBoxOf } from './secrets.ts';
import { StartError } from './start-error.ts';
import { rotateTie } from './tie.ts';

/** The service's own write may hold the store, or an engine may be away for a moment. */
const triesMax = 5;
const pauseMs = 200;
/** After each tenant, so that the service's own writes find the store free: some 130 tenants a second. */
const restMs = 5;
/** Of what can't be opened, and of what waits, a person is told so many by name. */
const toldMax = 20;

/** Interrupted, it is run again and goes on. @throws StartError when a setting is missing, something can't be opened, or an erasure still needs the secret before */
export async function rotateSecrets(config: Config): Promise<void> {
  for (const name of ['ENCRYPTION_SECRET', 'ENCRYPTION_SECRET_PREVIOUS'] as const)
    if (config[name] === null) throw new StartError(`${name}: is needed: the new secret and the one before it.`);
  const clock = createClock();
  const logger = createLogger({ level: config.LOG_LEVEL });
  const { settings, close } = await openSettings({ config, clock, logger, signal: new AbortController().signal });
  try {
    const secretBox = await secretBoxOf(config);
    const rotated = await rotateAll({ settings, clock, reseal: resealTenant({ settings, secretBox }) });
    await repeated(clock, () => rotateTie(settings, secretBox));
    const waiting = await erasuresBefore({ config, settings, clock, logger, secretBox });
    process.stdout.write(summaryOf(rotated, waiting));
    const left = [...whatIsUnreadable(rotated.unreadable), ...whatWaits(waiting)];
    if (left.length > 0) throw new StartError(left.join('\n'));
  } finally {
    await close();
    logger.flush();
  }
}

interface Rotated {
  readonly tenants: number;
  readonly secrets: number;
  /** When they were first looked at. */
  readonly already: number;
  readonly resealed: number;
  readonly unreadable: readonly string[];
}

interface Rotation {
  readonly settings: SettingsStore;
  readonly clock: Clock;
  reseal(tenantId: TenantId): Promise<Resealed>;
}

/** Tenants come in the order of their last changes, so one that is changed meanwhile comes again: at the end all have been seen as they are. */
async function rotateAll({ settings, clock, reseal }: Rotation): Promise<Rotated> {
  const progress = createProgress('rotate-secrets');
  const total = await count(allTenants(settings));
  const seen = new Set<TenantId>();
  const unreadable: string[] = [];
  let secrets = 0;
  let already = 0;
  let resealed = 0;
  for await (const id of allTenants(settings)) {
    const result = await repeated(clock, () => reseal(id));
    resealed += result.resealed;
    if (result.resealed > 0) await clock.sleep(restMs);
    if (seen.has(id)) continue;
    seen.add(id);
    secrets += result.total;
    already += result.total - result.resealed - result.unreadable.length;
    unreadable.push(...result.unreadable.map((what) => `${id}: ${what}`));
    progress.update(seen.size, Math.max(total, seen.size));
  }
  progress.end(`${seen.size} tenants done`);
  return { tenants: seen.size, secrets, already, resealed, unreadable };
}

interface Waiting {
  readonly config: Config;
  readonly settings: SettingsStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly secretBox: SecretBox;
}

/** Erasures that aren't over, of what was sealed before: a job is its owner's, who writes all of it, so nobody seals it anew beside him. */
async function erasuresBefore({ config, settings, clock, logger, secretBox }: Waiting): Promise<readonly string[]> {
  const { jobs, close } = await openJobsBeside(config, { logger });
  try {
    const waiting = new Set<string>();
    for await (const tenantId of allTenants(settings))
      for (const job of await repeated(clock, () => jobs.listOpen(tenantId)))
        if (isSealedBefore(job, secretBox)) waiting.add(`${tenantId}: ${job.id}`);
    return [...waiting];
  } finally {
    await close();
  }
}

async function count(ids: AsyncIterable<TenantId>): Promise<number> {
  let counted = 0;
  for await (const _ of ids) counted++;
  return counted;
}

async function repeated<T>(clock: Clock, run: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await run();
    } catch (error) {
      if (tried === triesMax) throw error;
    }
    await clock.sleep(pauseMs);
  }
}

function summaryOf({ tenants, secrets, already, resealed, unreadable }: Rotated, waiting: readonly string[]): string {
  const counts = `${resealed} sealed anew, ${already} were already, ${unreadable.length} can't be opened`;
  const next = unreadable.length + waiting.length === 0 ? 'ENCRYPTION_SECRET_PREVIOUS is not needed any more.\n' : '';
  return `${tenants} tenants, ${secrets} secrets: ${counts}.\n${next}`;
}

function whatIsUnreadable(unreadable: readonly string[]): string[] {
  if (unreadable.length === 0) return [];
  return [`These can't be opened, under neither secret, and were left as they are:${toldOf(unreadable)}`];
}

function whatWaits(waiting: readonly string[]): string[] {
  if (waiting.length === 0) return [];
  return [
    `These erasures aren't over and need ENCRYPTION_SECRET_PREVIOUS: keep it, and run this again when they have ended:${toldOf(waiting)}`,
  ];
}

function toldOf(all: readonly string[]): string {
  const more = all.length > toldMax ? `\n  and ${all.length - toldMax} more` : '';
  return `\n  ${all.slice(0, toldMax).join('\n  ')}${more}`;
}
