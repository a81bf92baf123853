// Accepts what a batch has checked, a flush at a time: those whose events are made already, those with a key one by one, since each may wait for another of
// its key, and all others together. Where texts are filled in, a slice at a time (prepare-items.ts), and the thread is others' before the next.

import type { NotificationInput } from '../commands/accept-notification.ts';
import type { Outcome } from '../commands/accept-notifications.ts';
import type { Commands } from '../commands/index.ts';
import type { BatchId, TenantId } from '../domain/ids.ts';
import type { Position } from '../ports/event-log.ts';
import type { MadeEvents } from '../ports/item-maker.ts';
import type { Results } from './batch-results.ts';
import { nextTurn } from './next-turn.ts';
import type { OwnWrites } from './own-writes.ts';

export interface AcceptanceDependencies {
  readonly commands: Pick<Commands, 'acceptNotifications' | 'acceptMade' | 'acceptItemsOnce'>;
  readonly ownWrites: Pick<OwnWrites, 'noteAll'>;
}

export interface Checked {
  /** Its place in the batch. */
  readonly index: number;
  readonly input: NotificationInput;
  readonly key: string | null;
}

/** Items whose events are made. */
export interface MadeOfItems {
  readonly made: MadeEvents;
  /** Of each event, its item's place in the batch. */
  readonly indexes: readonly number[];
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
  /** @param indexOf the place in the batch of the one that an outcome is of */
  const tell = (outcomes: readonly Outcome[], indexOf: (i: number) => number): void => {
    const positions: Position[] = [];
    const run = results.acceptMany();
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.kind === 'refused') results.refuse(indexOf(i), outcome.error);
      else {
        const { notificationId, position } = outcome;
        positions.push(position);
        if (outcome.isReplayed) run.replay(indexOf(i), notificationId, outcome.batchId);
        else run.accept(indexOf(i), notificationId);
      }
    }
    run.end();
    ownWrites.noteAll(tenantId, positions);
  };

  /**
   * Behind a slice that something wasn't there for nothing is begun. Between two of them others have a turn of the event loop, and no more: with a rest as long as
   * each took, or a gap as before a flush, a batch of the dearest templates, 4 ms each, took three times as long, and another's HIGH 3 to 8 ms in place of 14 (p50).
   */
  const tellInSlices = async (items: readonly Checked[], slices: AsyncIterable<readonly Outcome[]>): Promise<void> => {
    let told = 0;
    try {
      for await (const outcomes of slices) {
        const before = told;
        tell(outcomes, (i) => items[before + i]?.index ?? 0);
        told += outcomes.length;
        if (told === items.length) return;
        const reason = results.unavailable();
        if (reason !== null) throw reason;
        await nextTurn();
      }
    } catch (error) {
      for (const { index } of items.slice(told)) results.refuse(index, error);
    }
  };

  const acceptTogether = async (items: readonly Checked[]): Promise<void> => {
    if (items.length === 0) return;
    const inputs = items.map(({ input }) => input);
    await tellInSlices(items, commands.acceptNotifications(tenantId, inputs, batchId));
  };

  const acceptKeyed = async (items: readonly Keyed[]): Promise<void> => {
    if (items.length === 0) return;
    await tellInSlices(items, commands.acceptItemsOnce(tenantId, items, batchId));
  };

  const acceptMade = async (ready: readonly MadeOfItems[], onAppending: () => void): Promise<void> => {
    if (ready.length === 0) return onAppending();
    try {
      const made = ready.map((one) => one.made);
      const outcomes = await commands.acceptMade(tenantId, made, onAppending);
      for (const [n, { indexes }] of ready.entries()) tell(outcomes[n] ?? [], (i) => indexes[i] ?? 0);
    } catch (error) {
      onAppending();
      for (const { indexes } of ready) for (const index of indexes) results.refuse(index, error);
    }
  };

  /** Never rejects. @param onTogether is called when those without a key are through, whatever the others, a fifth as many, wait for */
  return async (ready: readonly MadeOfItems[], items: readonly Checked[], onTogether: () => void): Promise<void> => {
    const keyed = items.filter((item): item is Keyed => item.key !== null);
    const others = keyed.length === 0 ? items : items.filter(({ key }) => key === null);
    // What was made here is behind what was made beside this thread, also where a channel of that is looked up for longer.
    const appending = Promise.withResolvers<void>();
    const inOrder = appending.promise.then(() => acceptTogether(others));
    const together = Promise.all([acceptMade(ready, appending.resolve), inOrder]).finally(onTogether);
    await Promise.all([together, acceptKeyed(keyed)]);
  };
}
