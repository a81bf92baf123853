// What the read models lack of what the log says, as far as they have folded it.

import type { Topic } from '../domain/topics.ts';
import type { Position } from '../ports/event-log.ts';
import type { Document, ReadModelReader } from '../ports/read-model-store.ts';
import type { NotificationDocument } from '../projections/notifications/document.ts';
import { notificationsCollection } from '../projections/notifications/document.ts';
import { timersCollection } from '../projections/timers/document.ts';
import type { TimersDocument } from '../projections/timers/document.ts';
import type { Known, Open } from './ledger.ts';
import { isEnded } from './ledger.ts';

type Folded = ReadonlyMap<Topic, number>;
type Reader = Pick<ReadModelReader, 'get'>;

export interface Lacking {
  readonly of: Known;
  readonly why: string;
}

/** Those whose record isn't there, or hasn't ended though the log says so. */
export async function recordsLacking(
  reader: Reader,
  folded: Folded,
  known: readonly Known[],
  expected: 'there' | 'ended',
): Promise<Lacking[]> {
  const asked = known.filter(({ first }) => isFolded(first, folded));
  const stored = await fieldsOf<Pick<NotificationDocument, 'status'>>(reader, notificationsCollection.name, asked, [
    'status',
  ]);
  const lacking: Lacking[] = [];
  for (const one of asked) {
    const record = stored.get(one.id);
    if (record === undefined) lacking.push({ of: one, why: 'it has no record' });
    else if (expected === 'ended' && !endedStatuses.has(record.status) && isFolded(one.last, folded)) {
      if (await isBehind(reader, one)) lacking.push({ of: one, why: `its record says ${record.status}` });
    }
  }
  return lacking;
}

/** Those whose timer was folded and isn't there any more, nor decided. */
export async function timersLacking(reader: Reader, folded: Folded, open: readonly Open[]): Promise<Open[]> {
  const asked = open.filter(({ waits }) => waits !== null && isFolded(waits.since, folded));
  const stored = await fieldsOf<Pick<TimersDocument, 'nextDueAt' | 'decided'>>(reader, timersCollection.name, asked, [
    'nextDueAt',
    'decided',
  ]);
  return asked.filter(({ id }) => {
    const timers = stored.get(id);
    return (timers?.nextDueAt ?? null) === null && (timers?.decided ?? null) === null;
  });
}

const endedStatuses: ReadonlySet<string> = new Set(['DELIVERED', 'FAILED', 'CANCELLED']);

/** A record that hasn't ended may be in a later round, which was begun by hand since. */
async function isBehind(reader: Reader, { id, round }: Known): Promise<boolean> {
  const record = (await reader.get<NotificationDocument>(notificationsCollection.name, [id])).get(id);
  return record === undefined || (record.round <= round && !isEnded(record));
}

function isFolded({ topic, offset }: Position, folded: Folded): boolean {
  return offset < (folded.get(topic) ?? 0);
}

async function fieldsOf<D extends Document>(
  reader: Reader,
  collection: string,
  of: readonly Known[],
  fields: readonly string[],
): Promise<ReadonlyMap<string, D>> {
  if (of.length === 0) return new Map();
  return reader.get<D>(collection, [...new Set(of.map(({ id }) => id))], { fields });
}
