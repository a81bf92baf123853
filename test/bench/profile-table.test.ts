// A CPU profile by module: time goes to whose code ran, folder, package or Node itself.

import { expect, it } from '@jest/globals';

import { moduleOf, timesByModule } from '../../bench/profile-table.ts';

it.each([
  ['append', 'file:///srv/herald/src/adapters/sqlite/event-log/writer.ts', 'src/adapters/sqlite/event-log'],
  ['main', 'file:///srv/herald/bin/herald.js', 'bin'],
  ['write', 'file:///srv/herald/node_modules/pino/lib/proto.js', 'npm pino'],
  ['encode', 'file:///srv/herald/node_modules/@aws-sdk/client-ses/dist/index.js', 'npm @aws-sdk/client-ses'],
  ['inner', 'file:///srv/node_modules/a/node_modules/b/src/x/y.js', 'npm b'],
  ['onread', 'node:internal/stream_base_commons', 'node:internal/stream_base_commons'],
  ['writev', 'node:internal/streams/writable', 'node:internal/streams'],
  ['(garbage collector)', '', 'garbage collection'],
  ['(program)', '', 'the system and native code'],
  ['writev', '', 'built-in writev'],
  ['(idle)', '', null],
  ['(root)', '', null],
])('%s of %s is counted for %s', (functionName, url, module) => {
  expect(moduleOf(functionName, url)).toBe(module);
});

const frame = (id: number, functionName: string, url: string) => ({ id, callFrame: { functionName, url } });

it('a sample counts until the next one, the most first; idle time has no share', () => {
  const profile = {
    nodes: [
      frame(1, '(root)', ''),
      frame(2, '(idle)', ''),
      frame(3, 'fold', 'file:///h/src/projections/fold.ts'),
      frame(4, 'run', 'node:sqlite'),
    ],
    samples: [3, 4, 2, 3, 4],
    // The first is since the profile's start. V8 may hand a sample out before the one that was taken earlier.
    timeDeltas: [50, 100, 700, 9000, 200],
  };
  expect(timesByModule(profile)).toEqual([
    { module: 'node:sqlite', us: 700, share: 0.7 },
    { module: 'src/projections', us: 300, share: 0.3 },
  ]);
  const backwards = { ...profile, samples: [3, 4], timeDeltas: [0, -20] };
  expect(timesByModule(backwards).every(({ us }) => us === 0)).toBe(true);
});

it('a profile without samples has no rows', () => {
  expect(timesByModule({ nodes: [] })).toEqual([]);
});
