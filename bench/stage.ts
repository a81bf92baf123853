// What the parts of a run share: the load and sink processes, data folders, and services with their tenants, started when first needed.

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startLoad, startReference, startSink } from './children.ts';
import type { Load, Reference, Sink } from './children.ts';
import type { Engines, Share } from './engines.ts';
import type { Profiles } from './profiles.ts';
import type { LoadEnd, LoadResult, LoadTarget } from './protocol.ts';
import type { Results } from './results.ts';
import { inspected, placeOf, provisionTenants, residentMemory, startService } from './service.ts';
import type { BenchedRole, Place, Service } from './service.ts';
import type { Sizes } from './sizes.ts';

export interface RunningService extends Service {
  readonly apiKeys: readonly string[];
}

/** A data folder and a share of the engines. */
export interface SharedPlace extends Place, Pick<Share, 'dropReadModels'> {}

export interface Setting {
  readonly engines: Engines;
  readonly results: Results;
  readonly sizes: Sizes;
  readonly profiles: Profiles;
  /** Where filled logs are kept from run to run. */
  readonly cache: string;
}

export interface Stage extends Setting {
  readonly load: Load;
  readonly sink: Sink;
  reference(name: 'express' | 'http'): Promise<Reference>;
  apiAlone(): Promise<RunningService>;
  allRoles(): Promise<RunningService>;
  /** All roles as well, a process for this name alone: what it takes isn't what the others' load takes. */
  allRolesFor(name: string): Promise<RunningService>;
  /** A new one, with nothing in it. */
  place(name: string): Promise<SharedPlace>;
  /** One whose files stay where they are. */
  keptPlace(dataDir: string): SharedPlace;
  start(place: Place, role: BenchedRole): Promise<Service>;
  /** What else has to end with it; called once. */
  atEnd(end: () => Promise<void>): void;
  /** Adds the memory that all roles took at most until now, when they ran. */
  addMemory(): Promise<void>;
  /** Ends every process and removes the data; however often it is called, once. */
  close(): Promise<void>;
}

export const connections = 50;

export async function openStage(setting: Setting): Promise<Stage> {
  const { engines, results, sizes, profiles } = setting;
  const folder = await mkdtemp(join(tmpdir(), 'herald-bench-'));
  const references = new Map<string, Promise<Reference>>();
  const withTenants = new Map<string, Promise<RunningService>>();
  const services: Service[] = [];
  const shares: Share[] = [];
  const ends: (() => Promise<void>)[] = [];
  const load = startLoad();
  const sink = await startSink();

  const keptPlace = (dataDir: string): SharedPlace => {
    const share = engines.share(dataDir);
    shares.push(share);
    return { ...placeOf(dataDir, share.environment), dropReadModels: share.dropReadModels };
  };
  const place = async (name: string): Promise<SharedPlace> => {
    const dataDir = join(folder, name);
    await mkdir(dataDir);
    return keptPlace(dataDir);
  };
  const start = async (at: Place, role: BenchedRole): Promise<Service> => {
    const service = await startService(at, role, profiles.areTaken ? inspected : []);
    services.push(service);
    return service;
  };
  const startWithTenants = async (name: string, role: 'api' | null): Promise<RunningService> => {
    const at = await place(name);
    const service = await start(at, role);
    const what = role === null ? 'all roles' : `--role ${role}`;
    results.progress(
      `service (${what}) runs after ${Math.round(service.startedInMs)} ms; making ${sizes.tenants} tenants`,
    );
    const tenants = await provisionTenants(at, service.port, sizes.tenants);
    return { ...service, apiKeys: tenants.map(({ apiKey }) => apiKey) };
  };
  const once = (name: string, role: 'api' | null): Promise<RunningService> => {
    const starting = withTenants.get(name) ?? startWithTenants(name, role);
    withTenants.set(name, starting);
    return starting;
  };

  let closing: Promise<void> | null = null;
  const close = async () => {
    load.stop();
    sink.stop();
    for (const { value } of fulfilled(await Promise.allSettled(references.values()))) value.stop();
    await Promise.all([...services.map((service) => service.stop()), ...ends.map((end) => end())]);
    if (engines.set === 'real') results.progress('removing topics and databases');
    for (const share of shares) await share.remove();
    await rm(folder, { recursive: true, force: true });
  };

  // The first start of a checkout compiles and keeps what it compiled, which takes 40 MiB more: what is measured are the later ones.
  await (await start(await place('first'), null)).stop();

  return {
    ...setting,
    load,
    sink,
    reference: (name) => {
      const starting = references.get(name) ?? startReference(name);
      references.set(name, starting);
      return starting;
    },
    apiAlone: () => once('api', 'api'),
    allRoles: () => once('all', null),
    allRolesFor: (name) => once(name, null),
    place,
    keptPlace,
    start,
    atEnd: (end) => void ends.push(end),
    addMemory: async () => {
      const all = await withTenants.get('all');
      const memory = all === undefined ? null : residentMemory(all.pid);
      if (memory === null) return;
      results.add('resident memory after load', memory.nowMiB, 'MiB');
      results.add('resident memory under load, highest', memory.peakMiB, 'MiB', engines.targets.memoryMiB);
    },
    close: () => (closing ??= close()),
  };
}

export interface LoadedServer {
  readonly port: number;
  /** Absent: it asks for none. */
  readonly apiKeys?: readonly string[];
}

/** What the load process sends to it. */
export function targetOf(stage: Stage, { port, apiKeys = ['nk_unused'] }: LoadedServer): LoadTarget {
  return { port, apiKeys, sinkUrl: stage.sink.url, keepIds: false, bodyBytes: null };
}

/** A closed loop of `connections`; every answer must be a 202. */
export async function loadFully(stage: Stage, target: LoadTarget, until: LoadEnd): Promise<LoadResult> {
  return allAccepted(await stage.load.run({ kind: 'closed', target, connections, until }));
}

/** @throws Error when anything but a 202 was answered: what was measured is not accepting */
export function allAccepted(result: LoadResult): LoadResult {
  if (result.statuses['202'] === result.answers) return result;
  throw new Error(`not everything was accepted: ${JSON.stringify(result.statuses)}`);
}

function fulfilled<T>(settled: readonly PromiseSettledResult<T>[]): PromiseFulfilledResult<T>[] {
  return settled.filter((result) => result.status === 'fulfilled');
}
