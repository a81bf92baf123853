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
  // A file is 8 to 34 s of processor time, and up to 15 processes: with three at a time, on a slow machine, a start took over a minute, and all went no faster.
  maxWorkers: 2,
  // A start makes topics and indexes first; a group waits up to 10 s for a member that was killed; and a machine may take three times as long as another.
  testTimeout: 240_000,
};
