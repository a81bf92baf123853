// What signed webhooks before and signs no more leaves the settings: of all tenants, so whoever has the first number does it, for as long as that is its.

import type { Claim } from '../ports/event-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { SettingsStore } from '../ports/settings-store.ts';

const everyMs = 60_000;

/** Beside the passes: one of these may take hours, and goes on where the settings can't be written. Never rejects; ends with the claim. */
export async function forgetPreviousKeys(
  {
    settings,
    clock,
    logger,
  }: { readonly settings: Pick<SettingsStore, 'forgetPreviousKeys'>; readonly clock: Clock; readonly logger: Logger },
  { signal }: Pick<Claim, 'signal'>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await settings.forgetPreviousKeys(clock.now());
    } catch (err) {
      if (!signal.aborted) logger.error('former signing secrets are still stored', { err });
    }
    await clock.sleep(everyMs, signal);
  }
}
