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
const named = (channel: Channel, recipient: string) => ({ channel, recipient, spellings: [recipient] });
const data = (value: unknown, changed = (json: string) => json) =>
  requested('EMAIL', 'bob@example.com', { data: changed(JSON.stringify(value)) });

it.each<[string, DomainEvent]>([
  ['its recipient, however it is written', requested('EMAIL', 'Ada@Ex\u00E4mple.com')],
  ['a copy', requested('EMAIL', 'bob@example.com', { cc: ['ada@xn--exmple-cua.com'] })],
  ['a text', requested('SMS', '+4915112345678', { body: 'Ask Ada@xn--exmple-cua.com.' })],
  ['a copy, in another spelling', requested('EMAIL', 'bob@example.com', { cc: ['Ada@exämple.com'] })],
  ['a text, in another spelling', requested('EMAIL', 'bob@example.com', { body: 'Ask ada@EXÄMPLE.com.' })],
  ['a name in metadata', requested('EMAIL', 'bob@example.com', { metadata: { 'ada@xn--exmple-cua.com': 'customer' } })],
  ['data', data({ note: 'ada@xn--exmple-cua.com' })],
  ['data, behind a line break', data({ notes: ['Hello,\nada@xn--exmple-cua.com wrote'] })],
  ['data, as its JSON escapes it', data('ada@ex\\u00e4mple.com', (json) => json.replace('\\\\', '\\'))],
  ['a name in data', data({ customers: { 'ada@xn--exmple-cua.com': 1 } })],
  ['data that is deep', data(null, () => `${'['.repeat(50_000)}"\\tada@exämple.com"${']'.repeat(50_000)}`)],
  ['data that is no JSON', data(null, () => '{ada@xn--exmple-cua.com')],
])('names somebody: %s', (_, event) => {
  const spellings = ['ada@xn--exmple-cua.com', 'Ada@exämple.com'];
  expect(isNamedIn(event, { channel: 'EMAIL', recipient: 'ada@xn--exmple-cua.com', spellings })).toBe(true);
});

it.each<[string, DomainEvent]>([
  ['longer addresses', requested('EMAIL', 'bob@example.com', { body: 'mada@example.com, ada@example.com.au' })],
  ['another channel', requested('SMS', 'ada@example.com')],
])('does not name somebody: %s', (_, event) => {
  expect(isNamedIn(event, named('EMAIL', 'ada@example.com'))).toBe(false);
});

it('a short recipient is nobody but the one of an event, and the name of a field is no text', () => {
  const event = requested('IN_APP', 'metadata', { metadata: { name: 'ada' }, body: 'ada' });
  expect(isNamedIn(event, named('IN_APP', 'ada'))).toBe(false);
  const digits = requested('IN_APP', 'bob', { data: '{"user":12345678901234567890}' });
  expect(isNamedIn(digits, named('IN_APP', '12345678901234567890'))).toBe(true);
  expect(isNamedIn(requested('IN_APP', 'ada'), named('IN_APP', 'ada'))).toBe(true);
  expect(isNamedIn(requested('IN_APP', 'Ada'), named('IN_APP', 'ada'))).toBe(false);
  expect(isNamedIn(requested('IN_APP', 'bob'), named('IN_APP', 'metadata'))).toBe(false);
});
