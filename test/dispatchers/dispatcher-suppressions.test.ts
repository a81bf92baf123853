// What is for a suppressed recipient ends without an attempt, whatever asks for one, and says nothing of its provider.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { AttemptFailed } from '../../src/domain/events.ts';
import type { Suppressions } from '../../src/ports/suppressions.ts';
import { until } from '../support/until.ts';
import { makeWorld, outcomesOf, settingsOf } from './harness.ts';
import type { World } from './harness.ts';
import { due, requested, retryRequested } from './work-events.ts';

let world: World;
let suppressed: Set<string>;
const suppressions: Suppressions = {
  has: (tenantId, channel, recipient) => suppressed.has(`${tenantId} ${channel} ${recipient}`),
};

beforeEach(async () => {
  world = await makeWorld();
  suppressed = new Set();
});
afterEach(() => world.close());

async function outcomes(count: number): Promise<AttemptFailed[]> {
  await until(() => outcomesOf(world.said).length >= count, { what: `${count} outcomes` });
  return outcomesOf(world.said) as AttemptFailed[];
}

describe('a suppressed recipient', () => {
  it('ends whatever asks for an attempt without one: requests, retries, what a person sends again; others go out', async () => {
    const to = requested();
    const elsewhere = { ...requested(), recipient: 'https://elsewhere.example/hook' };
    suppressed.add(`${to.tenantId} ${to.channel} ${to.recipient}`);
    const { sends } = await world.run({ suppressions });
    const events = [to, due(requested(), 3, 1), retryRequested(requested(), 2, 4)];
    await world.append([...events, elsewhere]);
    const said = await outcomes(4);
    for (const { eventId } of events)
      expect(said.find(({ causeId }) => causeId === eventId)).toMatchObject({
        type: 'AttemptFailed',
        failureClass: 'recipient',
        code: 'SUPPRESSED',
        provider: 'none',
        retryAt: null,
        request: null,
      });
    expect(sends.map(({ recipient }) => recipient)).toEqual([elsewhere.recipient]);
  });

  it('gets what is transactional', async () => {
    const to = requested();
    suppressed.add(`${to.tenantId} ${to.channel} ${to.recipient}`);
    const { sends } = await world.run({ suppressions });
    await world.append([{ ...to, request: { ...to.request, transactional: true } }]);
    await outcomes(1);
    expect(sends).toHaveLength(1);
  });

  it('of many that fail so opens no breaker: its provider was not asked', async () => {
    const to = requested();
    suppressed.add(`${to.tenantId} ${to.channel} ${to.recipient}`);
    const { sends, lines } = await world.run({ suppressions });
    const many = Array.from({ length: 30 }, () => requested());
    await world.append(many);
    await outcomes(30);
    suppressed.clear();
    await world.append([requested()]);
    await until(() => sends.length === 1, { what: 'the one that is not suppressed any more' });
    expect(lines.filter(({ message }) => message.includes('breaker'))).toEqual([]);
  });

  it('that is suppressed while its attempt waits for the settings is not sent to', async () => {
    const open = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const to = requested();
    const { sends } = await world.run({
      suppressions,
      directory: {
        async provider(tenantId) {
          asked.resolve();
          await open.promise;
          return settingsOf(tenantId, 'WEBHOOK');
        },
      },
    });
    await world.append([to]);
    await asked.promise;
    suppressed.add(`${to.tenantId} ${to.channel} ${to.recipient}`);
    open.resolve();
    expect(await outcomes(1)).toMatchObject([{ failureClass: 'recipient', code: 'SUPPRESSED' }]);
    expect(sends).toEqual([]);
  });
});
