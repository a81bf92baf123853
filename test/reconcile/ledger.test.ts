// What the ledger says of any history is what the facts of its notifications say.

import { describe, expect, it } from '@jest/globals';

import { isNotificationEvent } from '../../src/domain/events.ts';
import type { NotificationFacts } from '../../src/domain/notification.ts';
import { mergeEvent } from '../../src/domain/notification.ts';
import { deliveriesTopic, topicOf } from '../../src/domain/topics.ts';
import type { DecodedEntry } from '../../src/projections/read-model.ts';
import { createLedger, isEnded } from '../../src/reconcile/ledger.ts';
import { anyHistory, entriesOf, lifeOf } from '../projections/histories.ts';
import fc from '../support/properties.ts';

function ledgerOf(entries: readonly DecodedEntry[]) {
  const accepted: string[] = [];
  let ended = 0;
  const ledger = createLedger({
    accepted: ({ id }) => accepted.push(id),
    ended: () => ended++,
    reopened: () => ended--,
  });
  for (const entry of entries) ledger.takeIn(entry);
  return { accepted, ended, open: [...ledger.open()] };
}

/** As the log has them: an event's answer never before it. */
function factsOf(entries: readonly DecodedEntry[]): ReadonlyMap<string, NotificationFacts> {
  const facts = new Map<string, NotificationFacts>();
  for (const { event } of entries) {
    if (!isNotificationEvent(event)) continue;
    facts.set(event.notificationId, mergeEvent(facts.get(event.notificationId) ?? null, event));
  }
  return facts;
}

describe('the ledger', () => {
  it('has open what has not ended, and counts the rest, whatever happened and however often it was appended', () => {
    fc.assert(
      fc.property(anyHistory, fc.boolean(), (history, isRepeated) => {
        const entries = isRepeated ? history.flatMap((entry) => [entry, entry]) : history;
        const facts = [...factsOf(entries).values()];
        const { accepted, ended, open } = ledgerOf(entries);
        const ids = facts.filter((of) => !isEnded(of)).map(({ id }) => id);
        expect(open.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
        expect(ended).toBe(facts.length - ids.length);
        expect(accepted.toSorted()).toEqual(facts.map(({ id }) => id).toSorted());
      }),
    );
  });

  const plan = {
    tenant: 0,
    channel: 'EMAIL' as const,
    priority: 'HIGH' as const,
    recipient: 0,
    template: false,
    requestedAfterMs: 0,
    isScheduled: false,
    isCancelled: false,
    isRetriedByHand: false,
    isRead: false,
  };

  it('says for whom a notification waits, and since which event', () => {
    const requested = entriesOf(lifeOf({ ...plan, steps: [] }, 1));
    expect(ledgerOf(requested).open).toMatchObject([
      { waits: { for: 'dispatcher', since: { topic: 'notifications.email.high', offset: requested[0]?.offset } } },
    ]);
    const life = entriesOf(lifeOf({ ...plan, steps: ['retry', 'retry'] }, 1));
    const setter = life.findIndex(({ event }) => event.type === 'AttemptFailed');
    expect(ledgerOf(life.slice(0, setter + 1)).open).toMatchObject([
      { waits: { for: 'scheduler', since: { topic: deliveriesTopic, offset: life[setter]?.offset } } },
    ]);
    const due = life.findIndex(({ event }) => event.type === 'DeliveryDue');
    const dueEntry = life[due];
    expect(ledgerOf(life.slice(0, due + 1)).open).toMatchObject([
      { waits: { for: 'dispatcher', since: { topic: dueEntry && topicOf(dueEntry.event), offset: dueEntry?.offset } } },
    ]);
  });

  it('says that a retry before its sendAt waits until then', () => {
    const life = lifeOf({ ...plan, isScheduled: true, isRetriedByHand: true, steps: ['final'] }, 1);
    const retry = life.at(-1);
    if (retry?.type !== 'RetryRequested') throw new Error('a life that ends with a retry');
    const sendAt = retry.occurredAt + 60_000;
    const before = { ...retry, request: { ...retry.request, sendAt } };
    expect(ledgerOf(entriesOf([...life.slice(0, -1), before])).open).toMatchObject([{ waits: { dueAt: sendAt } }]);
  });

  it('has it open again when a later attempt goes on, after one that was made twice has failed for good', () => {
    const life = entriesOf(lifeOf({ ...plan, steps: ['retry', 'made twice', 'retry'] }, 1));
    const failures = life.flatMap(({ event }, i) => (event.type === 'AttemptFailed' ? [i] : []));
    const told = (count: number) => ledgerOf(life.slice(0, (failures[count - 1] ?? 0) + 1));
    expect(told(2)).toMatchObject({ ended: 1, open: [] });
    expect(told(3)).toMatchObject({ ended: 0, open: [{ waits: { for: 'scheduler' } }] });
  });

  it('is not misled by an answer that stands before its event: clocks of brokers differ', () => {
    const [request, ...rest] = entriesOf(lifeOf({ ...plan, steps: ['succeeded'] }, 1));
    const { accepted, ended, open } = ledgerOf([...rest, ...(request === undefined ? [] : [request])]);
    expect([accepted.length, ended, open]).toEqual([1, 1, []]);
    const failed = entriesOf(lifeOf({ ...plan, steps: ['retry'] }, 1)).slice(0, 2);
    expect(ledgerOf(failed.toReversed()).open).toMatchObject([{ waits: { for: 'scheduler' } }]);
  });
});
