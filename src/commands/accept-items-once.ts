// Accepts items of a batch that have keys: made ready as those without are, a slice at a time, and each is then accepted by itself, since it may wait for another of its key.

import type { BatchId, TenantId } from '../domain/ids.ts';
import type { NotificationInput, Prepared } from './accept-notification.ts';
import type { Outcome } from './accept-notifications.ts';
import type { acceptOnce, KeyedInput } from './accept-once.ts';
import type { Preparation, prepareItems } from './prepare-items.ts';

export interface KeyedItem {
  readonly input: NotificationInput;
  readonly key: string;
}

interface Dependencies {
  readonly prepare: ReturnType<typeof prepareItems>;
  readonly once: ReturnType<typeof acceptOnce>;
}

/** Outcomes are in the order of the items, a slice at a time: of what is behind it nothing is done until it is asked for. */
export function acceptItemsOnce({ prepare, once }: Dependencies) {
  const accept = async (keyed: KeyedInput): Promise<Outcome> => {
    try {
      return { kind: 'accepted', ...(await once(keyed)) };
    } catch (error) {
      return { kind: 'refused', error };
    }
  };

  return async function* (
    tenantId: TenantId,
    items: readonly KeyedItem[],
    batchId: BatchId,
  ): AsyncGenerator<readonly Outcome[], void> {
    const inputs = items.map(({ input }) => input);
    let rest = items;
    for await (const slice of prepare(tenantId, inputs)) {
      const ofSlice = rest.slice(0, slice.length);
      rest = rest.slice(slice.length);
      yield await Promise.all(
        ofSlice.map(({ input, key }, i) => accept({ input, key, batchId, prepare: async () => made(slice[i]) })),
      );
    }
  };
}

/** @throws why it is refused: what was accepted under its key before is answered all the same */
function made(one: Preparation | undefined): Prepared {
  if (one === undefined) throw new Error('an item was not made ready');
  if ('kind' in one) throw one.error;
  return one;
}
