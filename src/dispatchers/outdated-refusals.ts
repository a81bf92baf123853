// A provider's refusal of settings that another process has replaced meanwhile ends nothing: the next attempt is made by those that hold.

import type { DeliveryOutcome } from '../domain/delivery-outcome.ts';
import type { Channel } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { DeliveryDirectory } from '../ports/tenant-directory.ts';
import type { ReadyMeans } from './means.ts';

/** The outcome, or one that is worth another try. Never rejects. */
export type JudgeRefusal = (
  tenantId: TenantId,
  means: ReadyMeans,
  outcome: DeliveryOutcome,
) => DeliveryOutcome | Promise<DeliveryOutcome>;

export function createJudgeRefusal(by: {
  readonly channel: Channel;
  readonly directory: Pick<DeliveryDirectory, 'refresh' | 'settings'>;
}): JudgeRefusal {
  const { channel, directory } = by;

  /** Also where nobody can say now: no refusal is for good that may be one of the past. */
  async function mayBeOutdated(tenantId: TenantId, { role, settings }: ReadyMeans): Promise<boolean> {
    try {
      await directory.refresh(tenantId);
      const known = await directory.settings(tenantId);
      const stored = known?.provider(channel, role);
      return stored?.updatedAt !== settings?.updatedAt;
    } catch {
      return true;
    }
  }

  return (tenantId, means, outcome) => {
    if (outcome.kind !== 'rejected' || means.settings === null) return outcome;
    const { reason } = outcome;
    if (reason.failureClass !== 'credentials') return outcome;
    return mayBeOutdated(tenantId, means).then((isOutdated) =>
      isOutdated ? { kind: 'retryable', reason, retryAfterMs: null } : outcome,
    );
  };
}
