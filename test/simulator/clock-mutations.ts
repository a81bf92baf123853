// Deliberate faults of those who go by clocks, as mutations.ts has them of everything else.

import type { Mutation } from './mutations.ts';

export const clockMutations: readonly Mutation[] = [
  {
    name: 'by which clock the former owner of a number set its timers is not asked',
    edits: [
      {
        file: 'scheduler/decider.ts',
        from: 'if (setAt !== null) steadyTime.seen(setAt);',
        to: '',
      },
    ],
    unseen:
      'too rare: one world in 27,000, since whatever is to come next shows it as well unless a right clock has set that; test/scheduler has one where it was',
  },
  {
    name: 'a delay that was set by a clock that was ahead ends by the clock of whoever has it now',
    edits: [
      {
        file: 'projections/timers/document.ts',
        from: '(wasSetAhead ? steady : wall)',
        to: '(wasSetAhead ? wall : wall)',
      },
    ],
  },
  {
    name: 'timers that were set by a clock that was ahead are not looked through',
    edits: [
      { file: 'scheduler/decider.ts', from: 'return steady - wall > setBackMinMs &&', to: 'return steady < wall &&' },
    ],
  },
  {
    name: 'a lease that was taken by a clock that was ahead is nobody else’s until then',
    edits: [{ file: 'jobs/abandoned-leases.ts', from: 'at - lease.since > leaseMs ?', to: 'at < lease.since ?' }],
  },
];
