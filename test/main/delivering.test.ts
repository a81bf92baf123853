// Which processes have a thread for their dispatchers.

import { availableParallelism } from 'node:os';

import { expect, it } from '@jest/globals';

import type { Role } from '../../src/main/config.ts';
import { allRoles, readConfig } from '../../src/main/config.ts';
import { hasDispatcherThread } from '../../src/main/delivering.ts';

function hasThread(threads: string, roles: readonly Role[]): boolean {
  return hasDispatcherThread(readConfig({ THREADS: threads }), new Set(roles));
}

it('does as THREADS says where the process delivers', () => {
  expect(hasThread('2', allRoles)).toBe(false);
  expect(hasThread('3', allRoles)).toBe(true);
  expect(hasThread('3', ['dispatcher'])).toBe(true);
  expect(hasThread('3', ['api', 'projector', 'scheduler'])).toBe(false);
});

it('without it goes by the cores, and by whether the main thread has anything else to do', () => {
  const hasCores = availableParallelism() > 2;
  expect(hasThread('auto', allRoles)).toBe(hasCores);
  expect(hasThread('', ['api', 'dispatcher'])).toBe(hasCores);
  expect(hasThread('auto', ['dispatcher', 'scheduler'])).toBe(false);
});

it('refuses other numbers by the name of the setting', () => {
  for (const threads of ['0', '1', '5', '2.5', 'many'])
    expect(() => readConfig({ THREADS: threads })).toThrow('THREADS: should be auto, 2, 3 or 4');
});
