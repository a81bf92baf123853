// What herald copy-log looks at before it reaches for any engine.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { createSecretBox } from '../../src/adapters/node/secret-box.ts';
import { openJobStore } from '../../src/adapters/sqlite/jobs/store.ts';
import { openSettingsStore } from '../../src/adapters/sqlite/settings/store.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { wholeTenant } from '../../src/domain/job.ts';
import { ordinaryShare, sealedFor } from '../../src/domain/tenant.ts';
import { readConfig } from '../../src/main/config.ts';
import { copyLogToKafka } from '../../src/main/copy-log.ts';
import { dataFiles } from '../../src/main/data-files.ts';
import type { StoredJob } from '../../src/ports/job-store.ts';
import { storedJob } from '../contracts/job-store.ts';
import { storedKey, storedTenant } from '../contracts/settings-store.ts';

const nowhere = {
  KAFKA_BROKERS: '127.0.0.1:1',
  SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
  MONGODB_URL: 'mongodb://127.0.0.1:1/herald',
  REDIS_URL: 'redis://127.0.0.1:1',
};

let dataDir: string;
const secret = 'the-one-that-sealed-them-of-32-characters';

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'herald-copy-log-'));
  writeFileSync(dataFiles(dataDir).log, 'a log');
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** Of two tenants the first is erased. */
async function makeSettings(): Promise<void> {
  const settings = openSettingsStore({ path: dataFiles(dataDir).settings });
  for (const id of ['tnt_gone', 'tnt_kept'] as TenantId[]) {
    const sealedWebhookSecret = createSecretBox(secret).seal('whsec_x', sealedFor.webhookSecret(id));
    await settings.createTenant(
      storedTenant({ id, subject: id, sealedWebhookSecret }),
      storedKey({ tenantId: id, hash: id }),
    );
  }
  await settings.eraseTenant('tnt_gone' as TenantId);
  await settings.setShare('tnt_kept' as TenantId, ordinaryShare);
  await settings.close();
}

async function makeJob(job: StoredJob): Promise<void> {
  const store = openJobStore({ path: dataFiles(dataDir).jobs, logId: 'log' });
  await store.add(job);
  await store.close();
}

const copy = (of: string) => copyLogToKafka(readConfig({ ...nowhere, DATA_DIR: dataDir, ENCRYPTION_SECRET: of }));

it('copies nothing under another secret than the one that sealed the settings, though the first of them is of an erased tenant', async () => {
  await makeSettings();
  await expect(copy('another-secret-of-32-characters-or-more')).rejects.toThrow(
    'ENCRYPTION_SECRET: is not the one that sealed the settings',
  );
});

it('copies nothing while a job is not over, which it names: whoever was promised it would never see it done', async () => {
  await makeSettings();
  const tenantId = 'tnt_gone' as TenantId;
  await makeJob(storedJob('erases', { tenantId, kind: 'erase', filter: wholeTenant }));
  await expect(copy(secret)).rejects.toThrow(
    /^These jobs aren't over, and aren't copied: job_erases \(erase, tnt_gone\)\. Start the embedded service until GET \/jobs\/:id says/,
  );
});

it('goes on where all jobs are over', async () => {
  await makeSettings();
  await makeJob(storedJob('erased', { tenantId: 'tnt_kept' as TenantId, state: 'done', endedAt: 1 }));
  await expect(copy(secret)).rejects.toThrow(/not a database/);
});
