// Deliberate faults in what rebuilds a read model while it serves.

import type { Mutation } from './mutations.ts';

export const rebuildMutations: readonly Mutation[] = [
  {
    name: 'a read model that is rebuilt is swapped in where it has come',
    edits: [
      {
        file: 'projections/level-swap.ts',
        from: 'const stored = await store.positions(name, partition);',
        to: 'const stored = new Map<Topic, number>();',
      },
    ],
  },
  {
    name: 'a read model is rebuilt from where the one that serves is',
    edits: [
      {
        file: 'projections/level-swap.ts',
        from: 'from: owner.offsets, to: later(stored, owner.offsets) }',
        to: 'from: stored, to: later(stored, owner.offsets) }',
      },
    ],
  },
  {
    name: 'what is held stays so where it does not come level',
    edits: [{ file: 'projections/level-swap.ts', from: 'await held.release();', to: '' }],
    unseen: 'a second later it is tried again, which holds it anew and swaps it; test/projections/live-rebuild has it',
  },
];
