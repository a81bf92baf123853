// What somebody meant who wrote a name in another way.

import { expect, it } from '@jest/globals';

import { nearMiss } from '../../src/domain/near-miss.ts';

const channels = ['EMAIL', 'SMS', 'WEBHOOK', 'IN_APP'];

it.each([
  ['email', 'EMAIL'],
  ['E-Mail', 'EMAIL'],
  ['in-app', 'IN_APP'],
  ['inApp', 'IN_APP'],
  ['webhooks', 'WEBHOOK'],
  ['wehbook', 'WEBHOOK'],
  ['mms', 'SMS'],
])('%s is %s', (written, name) => {
  expect(nearMiss(written, channels)).toBe(name);
});

it.each(['', 'push', 'letter', 'in', `email${'!'.repeat(100)}`])('%j is nothing that is near', (written) => {
  expect(nearMiss(written, channels)).toBeNull();
});

it('of two that are alike near neither is told', () => {
  expect(nearMiss('bodx', ['body', 'bodz'])).toBeNull();
});
