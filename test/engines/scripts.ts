// Starts and stops the four engines by the scripts beside this file, on their default ports.

import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));

interface Engine {
  readonly script: string;
  readonly address: () => string;
}

const port = (variable: string, fallback: string) => process.env[variable] ?? fallback;

const engines = {
  kafka: { script: 'kafka.sh', address: () => `127.0.0.1:${port('KAFKA_PORT', '19092')}` },
  registry: {
    script: 'registry.sh',
    address: () => `http://127.0.0.1:${port('REGISTRY_PORT', '18081')}/apis/ccompat/v7`,
  },
  mongo: {
    script: 'mongo.sh',
    address: () => `mongodb://127.0.0.1:${port('MONGO_PORT', '27017')}/?replicaSet=rs0`,
  },
  redis: { script: 'redis.sh', address: () => `redis://127.0.0.1:${port('REDIS_PORT', '16379')}` },
} as const satisfies Record<string, Engine>;

export type EngineName = keyof typeof engines;
export type Addresses = Readonly<Record<EngineName, string>>;
const names = Object.keys(engines) as EngineName[];

export interface StartedByScripts {
  readonly addresses: Addresses;
  /** Those that didn't run before. */
  readonly started: readonly EngineName[];
}

/**
 * Downloads what is missing; what each script has to say goes to stderr.
 * @throws Error naming every tool that is missing, and how to get it
 */
export async function fetchByScripts(): Promise<void> {
  const missing = await missingTools();
  if (missing.length > 0) throw new Error(`the engines can't be started here:\n  ${missing.join('\n  ')}`);
  // One after the other: two Mavens at once may spoil the repository that they share.
  for (const name of names) await script(name, 'fetch');
}

/** Fetches what is missing and starts what doesn't run. */
export async function startByScripts(): Promise<StartedByScripts> {
  await fetchByScripts();
  const started: EngineName[] = [];
  const results = await Promise.allSettled(
    names.map(async (name) => {
      if (await says(name, 'status')) return;
      started.push(name);
      await script(name, 'start');
    }),
  );
  const failed = results.filter((result) => result.status === 'rejected');
  if (failed.length > 0) {
    await stopByScripts(started);
    throw new Error(failed.map(({ reason }) => String(reason)).join('\n'));
  }
  const addresses = Object.fromEntries(names.map((name) => [name, engines[name].address()])) as Addresses;
  return { addresses, started };
}

export async function stopByScripts(which: readonly EngineName[] = names): Promise<void> {
  await Promise.all(which.map((name) => script(name, 'stop')));
}

/** Whether the script's answer to a question is yes. */
async function says(name: EngineName, question: 'fetched' | 'status'): Promise<boolean> {
  try {
    await run(join(here, engines[name].script), [question]);
    return true;
  } catch {
    return false;
  }
}

function script(name: EngineName, command: string): Promise<void> {
  const file = join(here, engines[name].script);
  return new Promise((resolve, reject) => {
    const child = spawn(file, [command], { stdio: ['ignore', process.stderr, process.stderr] });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`test/engines/${engines[name].script} ${command} failed; it said above what is wrong`));
    });
  });
}

/** A line for each tool that is needed and isn't there. Redis is looked for by its own script, which may install it. */
async function missingTools(): Promise<string[]> {
  const needsMaven = !(await says('kafka', 'fetched')) || !(await says('registry', 'fetched'));
  const needsPip = !(await says('mongo', 'fetched'));
  const found = await Promise.all([
    answers(
      'java',
      ['-version'],
      'Java 17 or newer: apt-get install -y --no-install-recommends openjdk-17-jre-headless',
    ),
    needsMaven &&
      answers(
        'mvn',
        ['--version'],
        'Maven, to download Kafka and the registry: apt-get install -y --no-install-recommends maven',
      ),
    needsPip &&
      answers(
        process.env['PYTHON'] ?? 'python3',
        ['-m', 'pip', '--version'],
        'Python with pip, to download MongoDB: apt-get install -y --no-install-recommends python3-pip',
      ),
  ]);
  return found.filter((line) => typeof line === 'string');
}

async function answers(command: string, args: readonly string[], otherwise: string): Promise<string | null> {
  try {
    await run(command, args);
    return null;
  } catch {
    return `${command} is missing. ${otherwise}`;
  }
}
