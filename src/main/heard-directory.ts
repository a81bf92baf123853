// A directory that takes in what it is told to forget before it answers: for a thread to which changes come as messages.

import type { DeliveryDirectory } from '../ports/tenant-directory.ts';

/** @param hear next to nothing when there is nothing to take in */
export function heardDirectory(directory: DeliveryDirectory, hear: () => void): DeliveryDirectory {
  return {
    share(tenantId) {
      hear();
      return directory.share(tenantId);
    },
    settings(tenantId) {
      hear();
      return directory.settings(tenantId);
    },
    refresh: directory.refresh,
  };
}
