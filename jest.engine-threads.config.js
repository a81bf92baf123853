// Jest for `npm run test:engine-threads`: faults on real engines, with the dispatchers of each process in a thread of their own. There the thread has connections
// of its own to Kafka and Redis, and asks the main thread for what MongoDB has. Any other file: THREADS=4 npm run test:real -- test/e2e/cluster/brokers
import engines from './jest.engines.config.js';

const chosen = ['nodes', 'watchdog'];

export default {
  ...engines,
  displayName: 'engine-threads',
  testMatch: [`<rootDir>/test/e2e/cluster/(${chosen.join('|')}).engines.test.ts`],
  setupFiles: [...engines.setupFiles, '<rootDir>/test/support/on-four-threads.ts'],
};
