// What of the log still names somebody: the recipient of an event, and a word of what it says; nothing that only looks like him.

import { expect, it } from '@jest/globals';

import type { Channel, DomainEvent } from '../../src/domain/events.ts';
import { isNamedIn } from '../../src/main/named-in.ts';
import type { Plan } from '../projections/histories.ts';
import { lifeOf, requestOf } from '../projections/histories.ts';

const plan: Plan = {
  tenant: 0,
  channel: 'EMAIL',
  priority: 'HIGH',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: [],
  isRetriedByHand: false,
  isRead: false,
};
const requested = (channel: Channel, recipient: string, more: Parameters<typeof requestOf>[0] = {}): DomainEvent => {
  const [event] = lifeOf({ ...plan, channel }, 1);
  return { ...event, recipient, request: requestOf(more) } as DomainEvent;
};

it.each<[string, DomainEvent]>([
  ['its recipient, however it is written', requested('EMAIL', 'Ada@Ex\u00E4mple.com')],
  ['a copy', requested('EMAIL', 'bob@example.com', { cc: ['ada@xn--exmple-cua.com'] })],
  ['a text', requested('SMS', '+4915112345678', { body: 'Ask Ada@xn--exmple-cua.com.' })],
])('names somebody: %s', (_, event) => {
  expect(isNamedIn(event, { channel: 'EMAIL', recipient: 'ada@xn--exmple-cua.com' })).toBe(true);
});

it.each<[string, DomainEvent]>([
  ['longer addresses', requested('EMAIL', 'bob@example.com', { body: 'mada@example.com, ada@example.com.au' })],
  ['another channel', requested('SMS', 'ada@example.com')],
])('does not name somebody: %s', (_, event) => {
  expect(isNamedIn(event, { channel: 'EMAIL', recipient: 'ada@example.com' })).toBe(false);
});

it('a short recipient is nobody but the one of an event, and the name of a field is no text', () => {
  const event = requested('IN_APP', 'metadata', { metadata: { name: 'ada' }, body: 'ada' });
  expect(isNamedIn(event, { channel: 'IN_APP', recipient: 'ada' })).toBe(false);
  expect(isNamedIn(requested('IN_APP', 'ada'), { channel: 'IN_APP', recipient: 'ada' })).toBe(true);
  expect(isNamedIn(requested('IN_APP', 'Ada'), { channel: 'IN_APP', recipient: 'ada' })).toBe(false);
  expect(isNamedIn(requested('IN_APP', 'bob'), { channel: 'IN_APP', recipient: 'metadata' })).toBe(false);
});
