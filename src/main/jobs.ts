// The jobs of a process: what the runner needs of it.

import { wholeReadModels } from '../api/whole-read-models.ts';
import type { CatchUps } from '../api/whole-read-models.ts';
import { cancelNotification } from '../commands/cancel-notification.ts';
import { eraseNotifications } from '../commands/erase-notifications.ts';
import { eraseRecords } from '../commands/erase-records.ts';
import { eraseTenant, forgetOfTenant } from '../commands/erase-tenant.ts';
import { retryNotification } from '../commands/retry-notification.ts';
import type { JobRunner } from '../jobs/runner.ts';
import { runJobs } from '../jobs/runner.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { Adapters } from './adapters.ts';

/** Records that are folded anew are waited for: a part of them would be taken for all. */
export function startJobs(adapters: Adapters, reader: ReadModelReader, catchUps: CatchUps): JobRunner {
  return runJobs({
    ...adapters,
    reader: wholeReadModels(reader, { catchUps, clock: adapters.clock }),
    bytes: adapters.engines.erasedBytes,
    commands: {
      retryNotification: retryNotification(adapters),
      cancelNotification: cancelNotification(adapters),
      eraseNotifications: eraseNotifications(adapters),
      eraseRecords: eraseRecords(adapters),
      eraseTenant: eraseTenant(adapters),
      forgetOfTenant: forgetOfTenant(adapters),
    },
  });
}
