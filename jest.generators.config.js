// Jest for `npm run test:generators`: clients that generators make of the OpenAPI document, which come from the package registries.
import embedded from './jest.config.js';

export default {
  ...embedded,
  displayName: 'generators',
  testMatch: ['<rootDir>/test/**/*.generators.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
