// Data folders of services that have run, and what becomes of a start on them once a file of theirs is another.

import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import type { DataDir, Environment, Herald } from './herald.ts';
import { herald as command, startHerald } from './herald.ts';
import { recordOf } from './records.ts';
import { until } from './until.ts';

export interface Installations {
  /** A new folder, or a copy of one. */
  folder(of?: DataDir): Promise<DataDir>;
  /** A file as another folder has it, without what SQLite keeps beside it. */
  put(into: DataDir, name: string, from: DataDir): Promise<void>;
  remove(from: DataDir, name: string): Promise<void>;
  /** Starts, sends a notification to each, waits until all are delivered, and stops. */
  run(dataDir: DataDir, recipients: readonly string[]): Promise<void>;
  start(dataDir: DataDir): Promise<Herald>;
  /** What a start that must not be says, and its code. */
  refusal(dataDir: DataDir): Promise<{ readonly stderr: string; readonly code: number | null }>;
  close(): Promise<void>;
}

const besides = ['', '-wal', '-shm'];

export async function createInstallations(environment: Environment): Promise<Installations> {
  const root = await mkdtemp(join(tmpdir(), 'herald-folders-'));
  const running = new Set<Herald>();
  let folders = 0;
  const folderAt = (path: string): DataDir => ({
    path,
    environment: { DATA_DIR: path },
    dropReadModels: () => remove(path, 'views.db'),
    remove: () => rm(path, { recursive: true, force: true }),
  });
  const remove = async (path: string, name: string) => {
    for (const beside of besides) await rm(join(path, `${name}${beside}`), { recursive: true, force: true });
  };
  const start = async (dataDir: DataDir) => {
    const service = await startHerald(dataDir, environment);
    running.add(service);
    return service;
  };

  return {
    async folder(of) {
      const path = join(root, String(folders++));
      if (of !== undefined) await cp(of.path, path, { recursive: true });
      return folderAt(path);
    },
    async put(into, name, from) {
      await remove(into.path, name);
      await cp(join(from.path, name), join(into.path, name));
    },
    remove: (from, name) => remove(from.path, name),
    async run(dataDir, recipients) {
      const service = await start(dataDir);
      await deliverAll(service, recipients);
      await service.stop();
      running.delete(service);
      for (const name of ['log.db', 'views.db', 'settings.db']) checkpoint(join(dataDir.path, name));
    },
    start,
    async refusal(dataDir) {
      const { stderr, code } = await command(['serve'], {
        PORT: '0',
        OPS_PORT: '0',
        ...dataDir.environment,
        ...environment,
      });
      return { stderr, code };
    },
    async close() {
      for (const service of running) await service.kill();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** All of it is in the file then, and nothing beside it. */
function checkpoint(path: string): void {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
}

/** To webhooks by their address, to inboxes by any other name. */
export async function deliverAll(service: Herald, recipients: readonly string[]): Promise<void> {
  const ids: string[] = [];
  for (const recipient of recipients) {
    const channel = recipient.startsWith('http') ? 'WEBHOOK' : 'IN_APP';
    const { status, body } = await service.notify({ channel, recipient, body: `to ${recipient}` });
    if (status !== 202) throw new Error(`${recipient}: ${status} ${JSON.stringify(body)}`);
    ids.push(String(body['notificationId']));
  }
  for (const id of ids)
    await until(async () => (await recordOf(service, id))?.status === 'DELIVERED', {
      timeoutMs: 30_000,
      what: `the delivery of ${id}`,
    });
}
