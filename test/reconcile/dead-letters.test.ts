// Dead letters of a real log: told once, looked at again where their bytes are, and appended again once, when they decode and nothing has overtaken them.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { DeadLettered, DomainEvent, SuppressionEvent } from '../../src/domain/events.ts';
import type { EventId, TenantId } from '../../src/domain/ids.ts';
import type { Position } from '../../src/ports/event-log.ts';
import { appendDeadLetter } from '../../src/projections/dead-letters.ts';
import { deadLetters, replay, stateOf } from '../../src/reconcile/dead-letters.ts';
import type { Engines } from '../projections/engines.ts';
import { appendAll, openEngines } from '../projections/engines.ts';
import { requested } from '../support/requested.ts';

let engines: Engines;

beforeEach(async () => {
  engines = await openEngines();
});
afterEach(() => engines.close());

async function appended(event: DomainEvent): Promise<Position> {
  const [position] = await appendAll(engines.log, [event]);
  if (position === undefined) throw new Error('not appended');
  return position;
}

/** What stood there before; the bytes are those from now on. */
function write({ topic, partition, offset }: Position, bytes: Uint8Array): Uint8Array {
  const db = new DatabaseSync(join(engines.folder, 'log.db'));
  const where = `"partition" = ? AND "offset" = ? AND topic = (SELECT id FROM topics WHERE name = ?)`;
  const before = db.prepare(`SELECT bytes FROM events WHERE ${where}`).get(partition, offset, topic)?.['bytes'];
  db.prepare(`UPDATE events SET bytes = ?, checksum = NULL WHERE ${where}`).run(bytes, partition, offset, topic);
  db.close();
  return before as Uint8Array;
}

/** As a projector does when it meets it. */
async function report({ topic, partition, offset }: Position): Promise<void> {
  for await (const entry of engines.log.read({ topic, partition, from: offset, to: offset + 1 }))
    await appendDeadLetter(engines.log, entry, entry.undecodable?.reason ?? '');
}

async function letters(): Promise<DeadLettered[]> {
  const all: DeadLettered[] = [];
  for await (const letter of deadLetters(engines.log)) all.push(letter);
  return all;
}

async function onlyLetter(): Promise<DeadLettered> {
  const [letter, ...more] = await letters();
  if (letter === undefined || more.length > 0) throw new Error('not one dead letter');
  return letter;
}

const suppression = (type: SuppressionEvent['type'], eventId: string, recipient = 'ada@example.com') =>
  ({
    type,
    eventId: eventId as EventId,
    occurredAt: 1,
    tenantId: 'tnt_a' as TenantId,
    traceparent: null,
    partition: 3,
    channel: 'EMAIL',
    recipient,
    actor: null,
    ...(type === 'RecipientSuppressed' ? { reason: 'manual' } : {}),
  }) as SuppressionEvent;

describe('a dead letter', () => {
  it('is told once, however often its bytes were met, and says why they do not decode', async () => {
    const position = await appended(requested(0, 1));
    write(position, Buffer.from([0xff, 0xff]));
    for (let i = 0; i < 2; i++) await report(position);
    const letter = await onlyLetter();
    expect(letter).toMatchObject({ ...position, bytes: Buffer.from([0xff, 0xff]).toString('base64') });
    expect(await stateOf(engines.log, letter)).toEqual({ kind: 'undecodable', reason: letter.reason });
  });

  it('whose bytes decode by now is appended again behind all else, once: then it is told where', async () => {
    const event = requested(0, 1);
    const position = await appended(event);
    const whole = write(position, Buffer.from([0xff]));
    await report(position);
    await appended(requested(0, 2));
    write(position, whole);
    const letter = await onlyLetter();
    const state = await stateOf(engines.log, letter);
    expect(state).toMatchObject({ kind: 'readable', event: { eventId: event.eventId } });
    if (state.kind !== 'readable') throw new Error(state.kind);
    const at = await replay(engines.log, state.event);
    expect(at).toMatchObject({ topic: position.topic, partition: position.partition });
    expect(at.offset).toBeGreaterThan(position.offset + 1);
    expect(await stateOf(engines.log, letter)).toMatchObject({ kind: 'replayed', at });
  });

  it('of a suppression is overtaken by a later change for the same recipient, and by no other', async () => {
    const position = await appended(suppression('RecipientSuppressed', 'one'));
    const whole = write(position, Buffer.from([0xff]));
    await report(position);
    write(position, whole);
    const letter = await onlyLetter();
    await appended(suppression('RecipientReleased', 'two', 'bob@example.com'));
    expect((await stateOf(engines.log, letter)).kind).toBe('readable');
    const at = await appended(suppression('RecipientReleased', 'three'));
    expect(await stateOf(engines.log, letter)).toMatchObject({ kind: 'overtaken', at });
  });

  it('of a place that this log has nothing at is gone', async () => {
    const position = await appended(requested(0, 1));
    write(position, Buffer.from([0xff]));
    await report(position);
    const letter = await onlyLetter();
    expect(await stateOf(engines.log, { ...letter, offset: 999 })).toEqual({ kind: 'gone' });
    expect(await stateOf(engines.log, { ...letter, topic: 'notifications.nonsense' })).toEqual({ kind: 'gone' });
  });

  it('there is none of in a log that decodes', async () => {
    await appended(requested(0, 1));
    expect(await letters()).toEqual([]);
  });
});
