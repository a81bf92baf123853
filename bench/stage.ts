// What the parts of a run share: the load and sink processes, data folders, and services with their tenants, started when first needed.

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startLoad, startReference, startSink } from './children.ts';
import type { Load, Reference, Sink } from './children.ts';
import type { Engines, Share } from './engines.ts';
import type { LoadEnd, LoadResult } from './protocol.ts';
import type { Results } from './results.ts';
import { placeOf, provisionTenants, residentMemory, startService } from './service.ts';
import type { BenchedRole, Place, Service } from './service.ts';

export interface RunningService extends Service {
  readonly apiKeys: readonly string[];
}

/** A data folder and a share of the engines. */
export interface SharedPlace extends Place, Pick<Share, 'dropReadModels'> {}

export interface Stage {
  readonly engines: Engines;
  readonly results: Results;
  readonly load: Load;
  readonly sink: Sink;
  reference(name: 'express' | 'http'): Promise<Reference>;
  apiAlone(): Promise<RunningService>;
  allRoles(): Promise<RunningService>;
  /** All roles as well, another process: what it takes isn't what the others' load takes. */
  crowded(): Promise<RunningService>;
  /** A new one, with nothing in it. */
  place(name: string): Promise<SharedPlace>;
  start(place: Place, role: BenchedRole): Promise<Service>;
  /** Adds the memory that all roles took at most until now, when they ran. */
  addMemory(): Promise<void>;
  /** Ends every process and removes the data. */
  close(): Promise<void>;
}

const tenants = 20;
export const connections = 50;

export async function openStage(engines: Engines, results: Results): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'herald-bench-'));
  const references = new Map<string, Promise<Reference>>();
  const withTenants = new Map<string, Promise<RunningService>>();
  const services: Service[] = [];
  const shares: Share[] = [];
  const load = startLoad();
  const sink = await startSink();

  const place = async (name: string): Promise<SharedPlace> => {
    const dataDir = join(folder, name);
    await mkdir(dataDir);
    const share = engines.share(dataDir);
    shares.push(share);
    return { ...placeOf(dataDir, share.environment), dropReadModels: share.dropReadModels };
  };
  const start = async (at: Place, role: BenchedRole): Promise<Service> => {
    const service = await startService(at, role);
    services.push(service);
    return service;
  };
  const startWithTenants = async (name: string, role: 'api' | null): Promise<RunningService> => {
    const at = await place(name);
    const service = await start(at, role);
    const what = role === null ? 'all roles' : `--role ${role}`;
    results.progress(`service (${what}) runs after ${Math.round(service.startedInMs)} ms; making ${tenants} tenants`);
    return { ...service, apiKeys: await provisionTenants(at, service.port, tenants) };
  };
  const once = (name: string, role: 'api' | null): Promise<RunningService> => {
    const starting = withTenants.get(name) ?? startWithTenants(name, role);
    withTenants.set(name, starting);
    return starting;
  };

  // The first start of a checkout compiles and keeps what it compiled, which takes 40 MiB more: what is measured are the later ones.
  await (await start(await place('first'), null)).stop();

  return {
    engines,
    results,
    load,
    sink,
    reference: (name) => {
      const starting = references.get(name) ?? startReference(name);
      references.set(name, starting);
      return starting;
    },
    apiAlone: () => once('api', 'api'),
    allRoles: () => once('all', null),
    crowded: () => once('crowd', null),
    place,
    start,
    addMemory: async () => {
      const all = await withTenants.get('all');
      const memory = all === undefined ? null : residentMemory(all.pid);
      if (memory === null) return;
      results.add('resident memory after load', memory.nowMiB, 'MiB');
      results.add('resident memory under load, highest', memory.peakMiB, 'MiB', engines.targets.memoryMiB);
    },
    close: async () => {
      load.stop();
      sink.stop();
      for (const { value } of fulfilled(await Promise.allSettled(references.values()))) value.stop();
      await Promise.all(services.map((service) => service.stop()));
      if (engines.set === 'real') results.progress('removing topics and databases');
      for (const share of shares) await share.remove();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A closed loop of `connections` at a server; every answer must be a 202. */
export async function loadFully(
  stage: Stage,
  server: { readonly port: number; readonly apiKeys?: readonly string[] },
  until: LoadEnd,
  keepIds = false,
): Promise<LoadResult> {
  const target = { port: server.port, apiKeys: server.apiKeys ?? ['nk_unused'], sinkUrl: stage.sink.url, keepIds };
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
