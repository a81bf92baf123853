// What herald copy-log looks at before it reaches for any engine.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

import { createSecretBox } from '../../src/adapters/node/secret-box.ts';
import { openSettingsStore } from '../../src/adapters/sqlite/settings/store.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { ordinaryShare, sealedFor } from '../../src/domain/tenant.ts';
import { readConfig } from '../../src/main/config.ts';
import { copyLogToKafka } from '../../src/main/copy-log.ts';
import { dataFiles } from '../../src/main/data-files.ts';
import { storedKey, storedTenant } from '../contracts/settings-store.ts';

const nowhere = {
  KAFKA_BROKERS: '127.0.0.1:1',
  SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
  MONGODB_URL: 'mongodb://127.0.0.1:1/herald',
  REDIS_URL: 'redis://127.0.0.1:1',
};

it('copies nothing under another secret than the one that sealed the settings, though the first of them is of an erased tenant', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'herald-copy-log-'));
  const files = dataFiles(dataDir);
  writeFileSync(files.log, 'a log');
  const settings = openSettingsStore({ path: files.settings });
  for (const id of ['tnt_gone', 'tnt_kept'] as TenantId[]) {
    const sealedWebhookSecret = createSecretBox('the one that sealed them').seal(
      'whsec_x',
      sealedFor.webhookSecret(id),
    );
    await settings.createTenant(
      storedTenant({ id, subject: id, sealedWebhookSecret }),
      storedKey({ tenantId: id, hash: id }),
    );
  }
  await settings.eraseTenant('tnt_gone' as TenantId);
  await settings.setShare('tnt_kept' as TenantId, ordinaryShare);
  await settings.close();
  const config = readConfig({
    ...nowhere,
    DATA_DIR: dataDir,
    ENCRYPTION_SECRET: 'another-secret-of-32-characters-or-more',
  });
  await expect(copyLogToKafka(config)).rejects.toThrow('ENCRYPTION_SECRET: is not the one that sealed the settings');
  rmSync(dataDir, { recursive: true });
});
