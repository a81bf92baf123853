// rotate-secrets beside jobs: what an erasure that isn't over was sealed under stays needed, and is said so.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { createSecretBox } from '../../src/adapters/node/secret-box.ts';
import { openJobStore } from '../../src/adapters/sqlite/jobs/store.ts';
import { startErasure } from '../../src/commands/start-erasure.ts';
import type { JobId, TenantId } from '../../src/domain/ids.ts';
import { defaultPartitioning } from '../../src/domain/topics.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import { storedJob } from '../contracts/job-store.ts';
import type { DataDir } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';

const oldSecret = 'the old encryption secret, of more than 32 characters';
const newSecret = 'the new encryption secret, of more than 32 characters';

let dataDir: DataDir;
let tenantId: TenantId;

beforeAll(async () => {
  dataDir = await makeDataDir('embedded');
  const service = await startHerald(dataDir, { ENCRYPTION_SECRET: oldSecret });
  tenantId = String((await service.dashboard('GET', '/tenant')).body['id']) as TenantId;
  await service.stop();
});
afterAll(() => dataDir.remove());

/** The jobs of the service, which isn't running. */
function openJobs() {
  const path = join(dataDir.path, 'jobs.db');
  const db = new DatabaseSync(path);
  const logId = String(db.prepare('SELECT log_id FROM jobs_of').get()?.['log_id']);
  db.close();
  return openJobStore({ path, logId });
}

/** Asked for, and not begun. */
async function askErasure(secret: string): Promise<JobId> {
  const jobs = openJobs();
  const start = startErasure({
    log: { partitioning: defaultPartitioning, ends: async () => [] },
    secretBox: createSecretBox(secret),
    async startJob({ filter }) {
      const job = storedJob(`of-${secret.slice(4, 7)}`, { tenantId, kind: 'erase', filter });
      await jobs.add(job);
      return job.id;
    },
  });
  const whom = { channel: 'EMAIL', recipient: 'ada@example.com', actor: null } as const;
  const id = await start({ ...whom, tenantId, ratePerSecond: 1, total: 1, trace: noTrace });
  await jobs.close();
  return id;
}

const rotate = () =>
  command(['rotate-secrets'], {
    ...dataDir.environment,
    ENCRYPTION_SECRET: newSecret,
    ENCRYPTION_SECRET_PREVIOUS: oldSecret,
  });
const notNeeded = 'ENCRYPTION_SECRET_PREVIOUS is not needed any more';

it('says that the secret before is needed while an erasure that was asked for under it is not over, and which', async () => {
  const waiting = await askErasure(oldSecret);
  const current = await askErasure(newSecret);
  const { code, stdout, stderr } = await rotate();
  expect([code, stderr]).toEqual([1, expect.stringContaining(`${tenantId}: ${waiting}`)]);
  expect(stderr).not.toContain(current);
  expect(stdout).not.toContain(notNeeded);
  const jobs = openJobs();
  await jobs.askStop(tenantId, waiting, Date.now());
  await jobs.close();
  const after = await rotate();
  expect([after.code, after.stdout]).toEqual([0, expect.stringContaining(notNeeded)]);
});
