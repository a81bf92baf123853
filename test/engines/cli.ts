// npm run engines:up | engines:down: real engines for a developer, and the settings that point Herald at them.

import { engineVariables } from '../support/engines.ts';
import type { Addresses } from './scripts.ts';
import { startByScripts, stopByScripts } from './scripts.ts';

const settings = {
  kafka: 'KAFKA_BROKERS',
  registry: 'SCHEMA_REGISTRY_URL',
  mongo: 'MONGODB_URL',
  redis: 'REDIS_URL',
} as const;

/** A tenth of the weight: the folding of a flood would else keep Herald from its processors, as MongoDB on a machine of its own doesn't. */
process.env['MONGO_SESSION_NICE'] ??= '10';

const [command] = process.argv.slice(2);
try {
  if (command === 'up') told((await startByScripts()).addresses);
  else if (command === 'down') await stopByScripts();
  else throw new Error('Usage: npm run engines:up | npm run engines:down');
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function told(addresses: Addresses): void {
  const lines = (variables: Readonly<Record<keyof Addresses, string>>) =>
    Object.entries(variables)
      .map(([name, variable]) => `  export ${variable}='${addresses[name as keyof Addresses]}'\n`)
      .join('');
  process.stdout.write(`
Kafka, a schema registry, MongoDB and Redis run. To start Herald on them ("npm start" after this):

${lines(settings)}
To run a single test file against them:

${lines(engineVariables)}
"npm run engines:down" stops them; their data stays in .engines.
`);
}
