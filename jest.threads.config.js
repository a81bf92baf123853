// Jest for `npm run test:threads`: what of the end-to-end suite is about faults and about each being sent once, with the dispatchers and batches' items in threads of their own.
// The others run in the form that this machine's cores ask for, and with THREADS=4 before them in this one.
import embedded from './jest.config.js';

const chosen = ['delivery', 'failures', 'kill', 'batch'];

export default {
  ...embedded,
  displayName: 'threads',
  testMatch: [`<rootDir>/test/e2e/(${chosen.join('|')}).test.ts`],
  setupFiles: ['<rootDir>/test/support/on-four-threads.ts'],
  // Each service has four threads.
  maxWorkers: 2,
};
