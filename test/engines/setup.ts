// Jest's globalSetup of the tests on real engines: finds or starts the engines and says where they are.
//
//   HERALD_TEST_* set ──> used as they are
//   else a Docker daemon answers ──> containers, stopped at the end
//   else CI=true ──> the scripts, on free ports with data of their own: no other run is in the way of this one
//   else ──> the scripts, on the default ports; what ran before stays, what was started here is stopped at the end

import { engineVariables } from '../support/engines.ts';
import type { Addresses } from './scripts.ts';

export default async function setup(): Promise<void> {
  const given = Object.values(engineVariables).filter((name) => isSet(process.env[name]));
  if (given.length > 0) {
    const missing = Object.values(engineVariables).filter((name) => !given.includes(name));
    if (missing.length > 0) throw new Error(`${given.join(', ')} set, but not ${missing.join(', ')}: all four or none`);
    return;
  }
  const { dockerAnswers, startInContainers } = await import('./containers.ts');
  if (await dockerAnswers()) {
    const { addresses, stop } = await startInContainers();
    publish(addresses);
    stopAtEnd(stop);
    return;
  }
  const { fetchByScripts, startByScripts, stopByScripts } = await import('./scripts.ts');
  if (process.env['CI'] === 'true') {
    await fetchByScripts();
    const own = await startOwn();
    publish(own.addresses);
    stopAtEnd(own.stop);
    return;
  }
  const { addresses, started } = await startByScripts();
  publish(addresses);
  if (started.length > 0) stopAtEnd(() => stopByScripts(started));
}

async function startOwn(): Promise<{ addresses: Addresses; stop: () => Promise<void> }> {
  const { startOwnKafka, startOwnMongo, startOwnRedis, startOwnRegistry } =
    await import('../support/engine-control.ts');
  // One that doesn't start leaves nothing behind, and the others end with this process.
  const [kafka, registry, mongo, redis] = await Promise.all([
    startOwnKafka({ brokers: 1 }),
    // It ends with their logs.
    startOwnRegistry({ inMemory: true }),
    startOwnMongo(),
    startOwnRedis(),
  ]);
  return {
    addresses: { kafka: kafka.address, registry: registry.address, mongo: mongo.address, redis: redis.address },
    stop: async () => {
      await Promise.all([kafka, registry, mongo, redis].map((engine) => engine.stop()));
    },
  };
}

/** For teardown.ts: the two files share a process, not always their modules. */
function stopAtEnd(stop: () => Promise<void>): void {
  Object.assign(globalThis, { [Symbol.for('herald.stopEngines')]: stop });
}

/** The processes of the tests are started after this and inherit it. */
function publish(addresses: Addresses): void {
  for (const [name, variable] of Object.entries(engineVariables))
    process.env[variable] = addresses[name as keyof Addresses];
}

function isSet(text: string | undefined): boolean {
  return text !== undefined && text.trim() !== '';
}
