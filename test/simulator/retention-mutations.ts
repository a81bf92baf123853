// Deliberate faults of retention, as mutations.ts has them of everything else.

import type { Mutation } from './mutations.ts';

export const retentionMutations: readonly Mutation[] = [
  {
    name: 'what still waits is forgotten',
    edits: [
      {
        file: 'retention/remains.ts',
        from: 'return isListed(record) && !ended.has(record.status);',
        to: 'return false;',
      },
    ],
  },
  {
    name: 'what still waits goes from the log',
    edits: [{ file: 'adapters/kafka/offsets.ts', from: 'const end = kept[0] ?? to;', to: 'const end = to;' }],
  },
  {
    name: 'of what two processes forget side by side both counts',
    edits: [
      {
        file: 'projections/notifications/forgetting.ts',
        from: 'return sequence === last.sequence + 1 && follows === last.eventId;',
        to: 'return true;',
      },
    ],
    unseen:
      'too rare: none of 1,200 worlds of its kind, since it takes two keepers within some ms; test/projections/forgetting has it',
  },
  {
    name: 'what waited once is never looked at again',
    edits: [
      {
        file: 'retention/keeper.ts',
        from: 'if (shortest !== Infinity && clock.monotonic() - lookedBackAt > lookBackEveryMs(shortest)) {',
        to: 'if (shortest < 0) {',
      },
    ],
  },
  {
    name: 'what is forgotten is still found',
    edits: [
      {
        file: 'projections/search/index.ts',
        from: "if (event.type === 'NotificationsForgotten') for (const id of event.notificationIds) documents.set(id, null);",
        to: '',
      },
    ],
  },
  {
    name: 'whoever reads on where the log has lost its beginning stands still',
    edits: [{ file: 'adapters/kafka/reader.ts', from: 'source.offset = start;', to: 'void start;' }],
    unseen:
      'nobody is so far behind in these worlds, in which things are kept for longer than anybody is away; test/adapters/kafka/reading has it',
  },
  {
    name: 'the days forget what is forgotten',
    edits: [
      { file: 'projections/notifications/kept-days.ts', from: 'addTo(day.counts, key, count);', to: 'void count;' },
    ],
  },
  {
    name: 'a number of which retention was lost goes on being passed over',
    edits: [{ file: 'retention/keeper.ts', from: 'while (!signal.aborted) {', to: 'for (;;) {' }],
  },
];
