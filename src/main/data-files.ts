// The files of the data folder, by what they hold.

import { join } from 'node:path';

export function dataFiles(dataDir: string) {
  return {
    log: join(dataDir, 'log.db'),
    views: join(dataDir, 'views.db'),
    settings: join(dataDir, 'settings.db'),
    idempotency: join(dataDir, 'idempotency.db'),
    jobs: join(dataDir, 'jobs.db'),
    encryptionSecret: join(dataDir, 'encryption-secret'),
    issuerKey: join(dataDir, 'issuer-key.json'),
  };
}
