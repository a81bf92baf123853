// The write side, by name.

import type { Digest } from '../domain/idempotency.ts';
import type { RateLimit } from '../domain/tenant.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { IdempotencyStore } from '../ports/idempotency-store.ts';
import type { JobStore } from '../ports/job-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { ProviderRegistry } from '../ports/provider-registry.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import type { SuppressionList } from '../ports/suppressions.ts';
import type { TemplateRenderer } from '../ports/template-renderer.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';
import type { ApiKeys } from '../ports/api-keys.ts';
import { acceptItemsOnce } from './accept-items-once.ts';
import { acceptMade } from './accept-made.ts';
import { acceptNotification, appendNotification, prepareNotification } from './accept-notification.ts';
import { acceptNotifications } from './accept-notifications.ts';
import type { Records } from './accept-once.ts';
import { acceptOnce } from './accept-once.ts';
import { cancelNotification } from './cancel-notification.ts';
import { createKey } from './create-key.ts';
import { createTemplate } from './create-template.ts';
import { deleteKey } from './delete-key.ts';
import { deleteProvider } from './delete-provider.ts';
import { deleteTemplate } from './delete-template.ts';
import { eraseNotifications } from './erase-notifications.ts';
import { eraseRecords } from './erase-records.ts';
import { eraseTenant, forgetOfTenant } from './erase-tenant.ts';
import { markInboxRead } from './mark-inbox-read.ts';
import { prepareItems } from './prepare-items.ts';
import { provisionTenant } from './provision-tenant.ts';
import { recordBatch } from './record-batch.ts';
import { regenerateKey } from './regenerate-key.ts';
import { renderingInLine } from './render-in-line.ts';
import { resendNotification } from './resend-notification.ts';
import { reportDelivery } from './report-delivery.ts';
import { retryNotification } from './retry-notification.ts';
import { saveProvider } from './save-provider.ts';
import { startErasure } from './start-erasure.ts';
import { startJob } from './start-job.ts';
import { stopJob } from './stop-job.ts';
import { eraseSuppression, releaseRecipient, suppressRecipient } from './suppress-recipient.ts';
import { testProvider } from './test-provider.ts';
import { updateTemplate } from './update-template.ts';

export interface CommandDependencies {
  readonly log: EventLog;
  readonly settings: SettingsStore;
  readonly idempotency: IdempotencyStore;
  readonly jobs: JobStore;
  readonly directory: TenantDirectory;
  readonly suppressions: SuppressionList;
  readonly renderer: TemplateRenderer;
  readonly registry: ProviderRegistry;
  readonly secretBox: SecretBox;
  readonly apiKeys: ApiKeys;
  readonly limiter: RateLimiter;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type Commands = ReturnType<typeof createCommands>;

/** What commands ask whose answer isn't theirs to know. */
export interface Asked {
  /** Of idempotency keys that a tenant begins. */
  readonly keyLimit: RateLimit;
  readonly records: Records;
  readonly digest: Digest;
}

export function createCommands(deps: CommandDependencies & Asked) {
  const prepare = prepareNotification(deps);
  const append = appendNotification(deps);
  const once = acceptOnce({ ...deps, keys: deps.idempotency, prepare, append });
  const prepareInSlices = prepareItems({ ...deps, renderer: renderingInLine(deps.renderer) });
  return {
    acceptNotification: acceptNotification(deps),
    acceptNotifications: acceptNotifications({ ...deps, prepare: prepareInSlices }),
    acceptMade: acceptMade(deps),
    acceptOnce: once,
    /** The same of items of a batch. */
    acceptItemsOnce: acceptItemsOnce({ prepare: prepareInSlices, once }),
    recordBatch: recordBatch(deps),
    retryNotification: retryNotification(deps),
    resendNotification: resendNotification({ ...deps, once }),
    cancelNotification: cancelNotification(deps),
    eraseNotifications: eraseNotifications(deps),
    eraseRecords: eraseRecords(deps),
    eraseTenant: eraseTenant(deps),
    forgetOfTenant: forgetOfTenant(deps),
    startJob: startJob(deps),
    startErasure: startErasure({ ...deps, startJob: startJob(deps) }),
    stopJob: stopJob(deps),
    markInboxRead: markInboxRead(deps),
    provisionTenant: provisionTenant(deps),
    regenerateKey: regenerateKey(deps),
    createKey: createKey(deps),
    deleteKey: deleteKey(deps),
    saveProvider: saveProvider(deps),
    deleteProvider: deleteProvider(deps),
    testProvider: testProvider(deps),
    createTemplate: createTemplate(deps),
    updateTemplate: updateTemplate(deps),
    deleteTemplate: deleteTemplate(deps),
    suppressRecipient: suppressRecipient(deps),
    releaseRecipient: releaseRecipient(deps),
    eraseSuppression: eraseSuppression(deps),
    reportDelivery: reportDelivery(deps),
  };
}
