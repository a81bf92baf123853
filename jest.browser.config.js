// Jest for `npm run test:browser`: the pages for browsers in a real Chromium, against a service of their own.
import embedded from './jest.config.js';

export default {
  ...embedded,
  displayName: 'browser',
  testMatch: ['<rootDir>/test/browser/**/*.test.ts'],
  // Those run with the other tests on real engines.
  testPathIgnorePatterns: ['/node_modules/', '\\.engines\\.test\\.ts$'],
  // A browser and a service for each file.
  maxWorkers: 1,
};
