// What the parts of a run share: the load and sink processes, data folders, and services with their tenants, started when first needed.

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startLoad, startReference, startSink } from './children.ts';
import type { Load, Reference, Sink } from './children.ts';
import type { LoadEnd, LoadResult } from './protocol.ts';
import type { Results } from './results.ts';
import { provisionTenants, residentMemory, startService } from './service.ts';
import type { Service } from './service.ts';

export interface RunningService extends Service {
  readonly dataDir: string;
  readonly apiKeys: readonly string[];
}

export interface Stage {
  readonly results: Results;
  readonly load: Load;
  readonly sink: Sink;
  reference(name: 'express' | 'http'): Promise<Reference>;
  apiAlone(): Promise<RunningService>;
  allRoles(): Promise<RunningService>;
  /** All roles over a data folder of its own, whose log holds what one part put there. */
  foldable(): Promise<RunningService>;
  /** Adds the memory that all roles took at most until now, when they ran. */
  addMemory(): Promise<void>;
  /** Ends every process and removes the data folders. */
  close(): Promise<void>;
}

const tenants = 20;
export const connections = 50;

export async function openStage(results: Results): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'herald-bench-'));
  const references = new Map<string, Promise<Reference>>();
  const services = new Map<string, Promise<RunningService>>();
  const load = startLoad();
  const sink = await startSink();

  // The first start of a checkout compiles and keeps what it compiled, which takes 40 MiB more: what is measured are the later ones.
  await mkdir(join(folder, 'first'));
  await (await startService({ dataDir: join(folder, 'first'), role: null })).stop();

  const service = (name: string, role: 'api' | null) => {
    const known = services.get(name);
    if (known !== undefined) return known;
    const starting = startWithTenants(join(folder, name), role, results);
    services.set(name, starting);
    return starting;
  };
  return {
    results,
    load,
    sink,
    reference: (name) => {
      const starting = references.get(name) ?? startReference(name);
      references.set(name, starting);
      return starting;
    },
    apiAlone: () => service('api', 'api'),
    allRoles: () => service('all', null),
    foldable: () => service('fold', null),
    addMemory: async () => {
      const all = await services.get('all');
      const memory = all === undefined ? null : residentMemory(all.pid);
      if (memory === null) return;
      results.add('resident memory after load', memory.nowMiB, 'MiB');
      results.add('resident memory under load, highest', memory.peakMiB, 'MiB', { kind: 'at most', value: 250 });
    },
    close: async () => {
      load.stop();
      sink.stop();
      for (const { value } of fulfilled(await Promise.allSettled(references.values()))) value.stop();
      await Promise.all(fulfilled(await Promise.allSettled(services.values())).map(({ value }) => value.stop()));
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

async function startWithTenants(dataDir: string, role: 'api' | null, results: Results): Promise<RunningService> {
  await mkdir(dataDir);
  const service = await startService({ dataDir, role });
  const what = role === null ? 'all roles' : `--role ${role}`;
  results.progress(`service (${what}) listens after ${Math.round(service.startedInMs)} ms; making ${tenants} tenants`);
  const apiKeys = await provisionTenants(dataDir, service.port, tenants);
  return { ...service, dataDir, apiKeys };
}

function fulfilled<T>(settled: readonly PromiseSettledResult<T>[]): PromiseFulfilledResult<T>[] {
  return settled.filter((result) => result.status === 'fulfilled');
}
