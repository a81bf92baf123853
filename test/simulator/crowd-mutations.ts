// Deliberate faults in what becomes of those who have no room in the log, and of those who have a rate.

import type { Mutation } from './mutations.ts';

export const crowdMutations: readonly Mutation[] = [
  {
    name: 'what has left for the scheduler takes its room for good',
    edits: [{ file: 'dispatchers/partition-account.ts', from: 'leavingBytes -= bytes;', to: '' }],
  },
  {
    name: 'a turn is booked beside the one before it',
    edits: [
      {
        file: 'dispatchers/bookings.ts',
        from: 'Math.max(of.until + paceMs, now + leadMs,',
        to: 'Math.max(now + leadMs,',
      },
    ],
  },
  {
    name: 'the first of a full window never speaks for itself',
    edits: [{ file: 'dispatchers/partition-account.ts', from: 'lag(first);', to: 'break;' }],
  },
  {
    name: 'a window of a rate is asked for again when it is long over',
    edits: [{ file: 'dispatchers/provider-rate.ts', from: 'restMs: resetMs + ', to: 'restMs: resetMs * 8 + ' }],
  },
];
