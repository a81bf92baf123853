// What others than the scheduler ask the read model `timers`.

import type { AskedCancel } from '../../ports/cancels.ts';
import type { FieldValue, Page, ReadModelReader } from '../../ports/read-model-store.ts';
import type { TimersDocument } from './document.ts';
import { timersCollection } from './document.ts';

const pageMax = 500;
/** As many as a dispatcher may hold of its work: 10,000. Those after them wait until these are decided. */
const pagesMax = 20;

/** The rounds of a partition number that a person wants stopped, and for which no timer waits. @throws Error when the store is away */
export async function cancelsAsked(reader: Pick<ReadModelReader, 'find'>, partition: number): Promise<AskedCancel[]> {
  const asked: AskedCancel[] = [];
  let after: readonly FieldValue[] | null = null;
  for (let pages = 0; pages < pagesMax; pages++) {
    const page: Page<TimersDocument> = await reader.find<TimersDocument>({
      collection: timersCollection.name,
      equals: { partition, cancelAsked: 1 },
      order: { fields: [], direction: 'ascending' },
      limit: pageMax,
      ...(after === null ? {} : { after }),
    });
    for (const { notificationId, cancels } of page.documents)
      asked.push(...cancels.map((round) => ({ notificationId, round })));
    after = page.next;
    if (after === null) break;
  }
  return asked;
}
