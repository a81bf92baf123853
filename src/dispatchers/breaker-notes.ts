// Notes in the settings which of the tenants' providers aren't called for a while, so that every process can show it: what has changed, together, a second later.

import type { Channel, ProviderRole } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { BreakerNote, SettingsStore } from '../ports/settings-store.ts';

export interface BreakerNotes {
  note(tenantId: TenantId, role: ProviderRole): void;
  /** Notes nothing more. */
  stop(): void;
}

const writeAfterMs = 1_000;
/** What can't be written waits so long; then what holds then is written. */
const retryMs = 10_000;
/** Tenants and roles that wait, of 200 bytes; what comes past it is noted at its next change. */
const waitingMax = 10_000;

export function createBreakerNotes(by: {
  readonly channel: Channel;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly noteBreakers: SettingsStore['noteBreakers'];
  /** Monotonic ms; null: closed. */
  readonly openUntil: (tenantId: TenantId, role: ProviderRole) => number | null;
}): BreakerNotes {
  const { channel, clock, logger, noteBreakers, openUntil } = by;
  const waiting = new Map<string, Pick<BreakerNote, 'tenantId' | 'role'>>();
  const stopping = new AbortController();
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    let waitMs = writeAfterMs;
    while (waiting.size > 0 && !stopping.signal.aborted) {
      await clock.sleep(waitMs, stopping.signal);
      if (stopping.signal.aborted) break;
      waitMs = (await write()) ? writeAfterMs : retryMs;
    }
    isRunning = false;
  }

  async function write(): Promise<boolean> {
    const told = [...waiting];
    waiting.clear();
    const ahead = clock.now() - clock.monotonic();
    const notes = told.map(([, { tenantId, role }]): BreakerNote => {
      const until = openUntil(tenantId, role);
      return { tenantId, channel, role, until: until === null ? null : Math.round(until + ahead) };
    });
    try {
      await noteBreakers(notes);
      return true;
    } catch (err) {
      for (const [key, one] of told) waiting.set(key, one);
      logger.debug('the states of breakers were not written', { channel, breakers: notes.length, err });
      return false;
    }
  }

  return {
    note(tenantId, role) {
      if (waiting.size >= waitingMax) return;
      waiting.set(`${tenantId}\n${role}`, { tenantId, role });
      if (!isRunning) void run();
    },
    stop: () => stopping.abort(),
  };
}
