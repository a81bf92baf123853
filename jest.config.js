// Jest in ESM; TypeScript by Node's own type stripping, so tests run what users run. `npm test`: everything that needs no server.
export default {
  displayName: 'embedded',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/test/browser/', '\\.(engines|tools)\\.test\\.ts$'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/support/strip-types.js' },
  testSequencer: '<rootDir>/test/support/longest-first.js',
  // Two cores are busy with three: some wait for their services, or for a second to pass.
  maxWorkers: 3,
  workerIdleMemoryLimit: '1GB',
  // For what hangs where no condition is waited for: three starts of a service took 30 s on a machine that was slow and busy, and CI's may take three times that.
  testTimeout: 180_000,
};
