// Accepts notifications whose events were made and encoded beside this thread: checked against the tenant's settings, then appended.

import type { Channel } from '../domain/events.ts';
import type { NotificationId, TenantId } from '../domain/ids.ts';
import type { AppendResult, EventLog } from '../ports/event-log.ts';
import type { MadeEvents } from '../ports/item-maker.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';
import { noProvider, notAppended, withoutKey } from './accept-notification.ts';
import type { Outcome } from './accept-notifications.ts';

interface Dependencies {
  readonly directory: Pick<TenantDirectory, 'canDeliver'>;
  readonly log: Pick<EventLog, 'appendEncoded'>;
}

/**
 * Outcomes of each of `made` are in the order of its events.
 * @param onAppending is called once all of them are with the log: what is appended from then on is behind them
 */
export function acceptMade({ directory, log }: Dependencies) {
  return async (
    tenantId: TenantId,
    made: readonly MadeEvents[],
    onAppending: () => void = () => {},
  ): Promise<readonly (readonly Outcome[])[]> => {
    // All answers before anything is appended: what is behind one of them in the log stays behind it.
    const refusals = await Promise.all(made.map(({ channel }) => refusalOf(directory, tenantId, channel)));
    const appending = Promise.all(
      made.map(async ({ notificationIds, events }, i) => {
        const refusal = refusals[i];
        if (refusal !== null) return notificationIds.map((): Outcome => ({ kind: 'refused', error: refusal }));
        const results = await log.appendEncoded(tenantId, events);
        return notificationIds.map((id, at) => outcomeOf(id, results[at]));
      }),
    );
    onAppending();
    return appending;
  };
}

/** What acceptNotification would throw; null: nothing. */
async function refusalOf(directory: Dependencies['directory'], tenantId: TenantId, channel: Channel): Promise<unknown> {
  try {
    return (await directory.canDeliver(tenantId, channel)) ? null : noProvider(channel);
  } catch (error) {
    return error;
  }
}

function outcomeOf(notificationId: NotificationId, result: AppendResult | undefined): Outcome {
  if (result === undefined) throw new Error('the log has not answered for each event');
  if (result.kind === 'durable')
    return { kind: 'accepted', notificationId, position: result.position, isReplayed: false };
  return { kind: 'refused', error: notAppended(result.kind, withoutKey) };
}
