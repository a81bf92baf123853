// Accepts what a batch has checked, a flush at a time: those with a key one by one, since each may wait for another of its key, and all others together.

import type { NotificationInput } from '../commands/accept-notification.ts';
import type { Commands } from '../commands/index.ts';
import type { BatchId, TenantId } from '../domain/ids.ts';
import type { Position } from '../ports/event-log.ts';
import type { Results } from './batch-results.ts';
import type { OwnWrites } from './own-writes.ts';

export interface AcceptanceDependencies {
  readonly commands: Pick<Commands, 'acceptNotifications' | 'acceptItemOnce'>;
  readonly ownWrites: Pick<OwnWrites, 'note' | 'noteAll'>;
}

export interface Checked {
  /** Its place in the batch. */
  readonly index: number;
  readonly input: NotificationInput;
  readonly key: string | null;
}

type Keyed = Checked & { readonly key: string };

interface Of {
  readonly tenantId: TenantId;
  readonly batchId: BatchId;
}

export function createAcceptance(
  { commands, ownWrites }: AcceptanceDependencies,
  { tenantId, batchId }: Of,
  results: Results,
) {
  const acceptKeyed = async ({ index, input, key }: Keyed): Promise<void> => {
    try {
      const { notificationId, position, isReplayed } = await commands.acceptItemOnce({ input, key, batchId });
      ownWrites.note(tenantId, position);
      results.accept(index, notificationId, isReplayed);
    } catch (error) {
      results.refuse(index, error);
    }
  };

  const acceptTogether = async (items: readonly Checked[]): Promise<void> => {
    if (items.length === 0) return;
    const inputs = items.map(({ input }) => input);
    const outcomes = await commands.acceptNotifications(tenantId, inputs, batchId);
    const positions: Position[] = [];
    const run = results.acceptMany();
    for (const [i, outcome] of outcomes.entries()) {
      const at = items[i]?.index ?? 0;
      if (outcome.kind === 'refused') results.refuse(at, outcome.error);
      else {
        positions.push(outcome.position);
        run.accept(at, outcome.notificationId);
      }
    }
    run.end();
    ownWrites.noteAll(tenantId, positions);
  };

  /** Never rejects. @param onTogether is called when those without a key are through, whatever the others, a fifth as many, wait for */
  return async (items: readonly Checked[], onTogether: () => void): Promise<void> => {
    const keyed = items.filter((item): item is Keyed => item.key !== null);
    const others = keyed.length === 0 ? items : items.filter(({ key }) => key === null);
    const together = acceptTogether(others)
      .catch((error: unknown) => {
        for (const { index } of others) results.refuse(index, error);
      })
      .finally(onTogether);
    await Promise.all([together, ...keyed.map(acceptKeyed)]);
  };
}
