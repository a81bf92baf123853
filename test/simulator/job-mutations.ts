// Deliberate faults of jobs, as mutations.ts has them of everything else.

import type { Mutation } from './mutations.ts';

export const jobMutations: readonly Mutation[] = [
  {
    name: 'the page in hand is not noted before it is begun',
    edits: [
      {
        file: 'jobs/turn.ts',
        from: 'const held = await save(moved({ ...job, mark: { next, planned } }));',
        to: 'const held = await save(moved({ ...job, mark: { next, planned: planned.slice(planned.length) } }));',
      },
    ],
  },
  {
    name: 'a job begins before the records have what the log has',
    edits: [{ file: 'jobs/turn.ts', from: 'const recorded = await whenRecorded(job);', to: 'const recorded = job;' }],
  },
  {
    name: 'what has failed again is sent once more by whoever goes on',
    edits: [
      {
        file: 'jobs/work.ts',
        from: 'isDone: (record, { round }) => record.round > round,',
        to: 'isDone: () => false,',
      },
      { file: 'jobs/turn.ts', from: 'else if (record.round === one.round) left', to: 'else left' },
    ],
  },
  {
    name: 'whoever goes on begins at the first page',
    edits: [
      {
        file: 'jobs/turn.ts',
        from: 'let job = await caughtUp(claimed);',
        to: "let job = await caughtUp({ ...claimed, mark: { ...claimed.mark, next: { kind: 'first' } } });",
      },
    ],
  },
  {
    name: 'what could not be appended counts as too late',
    edits: [{ file: 'jobs/work.ts', from: 'throw result.reason;', to: 'return false;' }],
  },
  {
    name: 'the counts are of the last page',
    edits: [
      {
        file: 'jobs/turn.ts',
        from: 'return withCounts(job, addedCounts(job, await work.act(job, records)));',
        to: 'return withCounts(job, await work.act(job, records));',
      },
    ],
  },
  {
    name: 'what a former owner has done of a page is not counted',
    edits: [{ file: 'jobs/turn.ts', from: 'const counts = { done, skipped', to: 'const counts = { done: 0, skipped' }],
  },
  {
    name: 'a job whose process was killed is nobody’s',
    edits: [
      { file: 'adapters/sqlite/jobs/store.ts', from: 'AND lease_until <= ?', to: 'AND lease_until <= ? - 86400000' },
    ],
  },
  {
    name: 'a former owner may write the mark',
    edits: [
      {
        file: 'adapters/sqlite/jobs/store.ts',
        from: "stored.state !== 'running' || stored.epoch !== job.epoch",
        to: 'false',
      },
      {
        file: 'jobs/turn.ts',
        from: 'if ((job.leaseUntil ?? 0) <= clock.now()) throw',
        to: 'if (clock.now() < 0) throw',
      },
    ],
  },
  {
    name: 'a job that is to stop goes on to its end',
    edits: [
      { file: 'jobs/turn.ts', from: 'while (!job.isStopAsked && ', to: 'while (' },
      { file: 'jobs/turn.ts', from: 'if (held.isStopAsked) return over', to: 'if (clock.now() < 0) return over' },
    ],
  },
  {
    name: 'a write of the mark forgets that a stop was asked for',
    edits: [
      { file: 'adapters/sqlite/jobs/store.ts', from: '{ ...job, isStopAsked: stored.isStopAsked }', to: '{ ...job }' },
    ],
  },
  {
    name: 'a cancel is not waited for',
    edits: [
      {
        file: 'jobs/work.ts',
        from: 'return !found.some(isUndecided);',
        to: 'return true;',
      },
    ],
  },
  {
    name: 'pages of a job follow one another without a rest',
    edits: [
      {
        file: 'jobs/turn.ts',
        from: 'await clock.sleep(Math.max(0, begun + restMs - clock.monotonic()), signal);',
        to: 'await clock.sleep(0 * (begun + restMs), signal);',
      },
    ],
  },
];
