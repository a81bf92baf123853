// A directory that takes in what it is told to forget before it answers: for a thread to which changes come as messages.

import type { DeliveryDirectory } from '../ports/tenant-directory.ts';

/** @param hear next to nothing when there is nothing to take in */
export function heardDirectory(directory: DeliveryDirectory, hear: () => void): DeliveryDirectory {
  return {
    share(tenantId) {
      hear();
      return directory.share(tenantId);
    },
    provider(tenantId, channel) {
      hear();
      return directory.provider(tenantId, channel);
    },
    fallback(tenantId, channel) {
      hear();
      return directory.fallback(tenantId, channel);
    },
    webhookSecret(tenantId) {
      hear();
      return directory.webhookSecret(tenantId);
    },
    secretsOf(tenantId) {
      hear();
      return directory.secretsOf(tenantId);
    },
    refresh: directory.refresh,
  };
}
