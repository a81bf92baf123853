// Jest for `npm run test:tools`: what other programs make of what Herald gives them (generated clients, Prometheus' rules); they come from the package registries.
import embedded from './jest.config.js';

export default {
  ...embedded,
  displayName: 'tools',
  testMatch: ['<rootDir>/test/**/*.tools.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // Prometheus, Go and Python compute beside them.
  maxWorkers: 2,
  // Of `it.concurrent`: they wait for services and other programs more than they compute.
  maxConcurrency: 3,
};
