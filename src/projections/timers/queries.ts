// What others than the scheduler ask the read model `timers`.

import type { NotificationId } from '../../domain/ids.ts';
import type { AskedCancel, DueAttempt } from '../../ports/cancels.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import type { TimersDocument } from './document.ts';
import { hasEnded, timersCollection } from './document.ts';

/** So many cancels of a number are told whole. */
const pageMax = 500;

/**
 * The rounds of a partition number that a person wants stopped, and for which no timer waits. Where one has cancelled thousands, only those of the
 * notifications that wait, so that another's are seen as soon as ever. @throws Error when the store is away
 */
export async function cancelsAsked(
  reader: Pick<ReadModelReader, 'find' | 'get'>,
  partition: number,
  waiting: readonly NotificationId[],
): Promise<AskedCancel[]> {
  const collection = timersCollection.name;
  const { documents, next } = await reader.find<TimersDocument>({
    collection,
    equals: { partition, cancelAsked: 1 },
    order: { fields: [], direction: 'ascending' },
    limit: pageMax,
  });
  if (next === null) return documents.flatMap(roundsOf);
  const asked: AskedCancel[] = [];
  for (let from = 0; from < waiting.length; from += pageMax) {
    const ids = waiting.slice(from, from + pageMax);
    const marks = await reader.get<Pick<TimersDocument, 'cancelAsked'>>(collection, ids, { fields: ['cancelAsked'] });
    const meant = ids.filter((id) => marks.get(id)?.cancelAsked === 1);
    if (meant.length === 0) continue;
    for (const document of (await reader.get<TimersDocument>(collection, meant)).values())
      asked.push(...roundsOf(document));
  }
  return asked;
}

/** Those of which a timer is left say nothing, and aren't read: they have their requests with them. @throws Error when the store is away */
export async function roundsEnded(
  reader: Pick<ReadModelReader, 'get'>,
  due: readonly DueAttempt[],
): Promise<AskedCancel[]> {
  const collection = timersCollection.name;
  const ended: AskedCancel[] = [];
  for (let from = 0; from < due.length; from += pageMax) {
    const page = due.slice(from, from + pageMax);
    const ids = page.map(({ notificationId }) => notificationId);
    const marks = await reader.get<Pick<TimersDocument, 'doneAt'>>(collection, ids, { fields: ['doneAt'] });
    const done = ids.filter((id) => typeof marks.get(id)?.doneAt === 'number');
    if (done.length === 0) continue;
    const documents = await reader.get<TimersDocument>(collection, done);
    for (const one of page) {
      const document = documents.get(one.notificationId);
      if (document !== undefined && hasEnded(document, one)) ended.push(one);
    }
  }
  return ended;
}

function roundsOf({ notificationId, cancels }: TimersDocument): AskedCancel[] {
  return cancels.map((round) => ({ notificationId, round }));
}
