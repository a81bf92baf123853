// Jest for `npm run test:real`: what needs real engines, and the end-to-end suite once more, on them.
import embedded from './jest.config.js';

/** Of test/e2e: what is about the files of the service, about the thread itself or about HTTP and the command line alone, or starts nothing on others; once is enough. */
const embeddedAlone = [
  'bystander',
  'compiled-once',
  'damaged-pages',
  'data-files',
  'erase-folded-anew',
  'files',
  'first-visit',
  'full-disk',
  'npm-start',
  'terminal',
  'tools',
  'unusable-files',
  'watchdog',
];

export default {
  ...embedded,
  displayName: 'engines',
  testMatch: ['<rootDir>/test/**/*.engines.test.ts', '<rootDir>/test/e2e/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', `/test/e2e/(${embeddedAlone.join('|')})\\.test\\.ts$`],
  globalSetup: '<rootDir>/test/engines/setup.ts',
  globalTeardown: '<rootDir>/test/engines/teardown.ts',
  setupFiles: ['<rootDir>/test/support/on-real-engines.ts'],
  // A file is 8 to 34 s of processor time, and takes longer by a third: groups, sessions and engines that come back are waited for. Each worker holds some 1.2 GiB with its services.
  maxWorkers: 3,
  // A start makes topics and indexes first; a group waits up to 10 s for a member that was killed.
  testTimeout: 120_000,
};
