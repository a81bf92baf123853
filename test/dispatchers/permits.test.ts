// For how long what waits for a paused provider, where other tenants would wait for it, is left to the scheduler.

import { expect, it } from '@jest/globals';

import { createComingBack } from '../../src/dispatchers/coming-back.ts';
import { createDeferrals } from '../../src/dispatchers/deferrals.ts';
import { createAskPermit } from '../../src/dispatchers/permits.ts';
import type { WorkItem } from '../../src/dispatchers/work-item.ts';
import type { Priority } from '../../src/domain/events.ts';
import { requested } from './work-events.ts';

const minuteMs = 60_000;

it.each<[Priority, number]>([
  ['HIGH', 5],
  ['DEFAULT', 60],
  ['BULK', 60],
])(
  '%s is looked at again after %d minutes and a quarter of them more at most, however long the pause',
  async (priority, minutes) => {
    const never = (): never => {
      throw new Error('not asked here');
    };
    const clock = { now: () => 0, monotonic: () => 0, random: () => 1 };
    const askPermit = createAskPermit({
      findMeans: async () => ({ kind: 'ready' }) as never,
      breakers: {
        choose: () => ({ kind: 'wait', until: 24 * 60 * minuteMs, of: 'tenant', awaited: 'tnt_a' }),
      } as never,
      deferrals: createDeferrals({ clock, comingBack: createComingBack({ clock }) }),
      pauses: { note() {}, end: never },
      isInOthersWay: () => true,
      takeRate: never,
      clock,
    });
    const event = requested({ channel: 'EMAIL', priority, recipient: 'ada@example.com' });
    expect(await askPermit({ event } as WorkItem)).toEqual({ kind: 'defer', dueAt: 1.25 * minutes * minuteMs });
  },
);
