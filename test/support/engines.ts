// Where the real engines of the integration tests are; jest's globalSetup of `npm run test:engines` says it.

export interface Engines {
  readonly kafkaBrokers: readonly string[];
  readonly registryUrl: string;
  readonly mongoUrl: string;
  readonly redisUrl: string;
}

/** Their addresses in the environment: given by whoever runs the tests, else set by test/engines/setup.ts. */
export const engineVariables = {
  kafka: 'HERALD_TEST_KAFKA',
  registry: 'HERALD_TEST_REGISTRY',
  mongo: 'HERALD_TEST_MONGODB',
  redis: 'HERALD_TEST_REDIS',
} as const;

/** @throws Error naming what is missing and how to get it */
export function engines(): Engines {
  return {
    kafkaBrokers: address(engineVariables.kafka).split(','),
    registryUrl: address(engineVariables.registry),
    mongoUrl: address(engineVariables.mongo),
    redisUrl: address(engineVariables.redis),
  };
}

function address(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '')
    throw new Error(
      `${name} is not set: run these tests by "npm run test:engines", or start engines by "npm run engines:up" and set what it prints`,
    );
  return value;
}
