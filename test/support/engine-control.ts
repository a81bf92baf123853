// Engines of a test file's own, to kill, hang and bring back: on free ports, with data of their own, gone with the test however it ends.

import { execFile, spawn } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { freePort, freePorts } from './free-ports.ts';

export interface OwnEngine {
  /** Kafka: `host:port`, commas between them; registry, MongoDB and Redis: a URL. */
  readonly address: string;
  /** SIGKILL. All but Redis keep their data over it. */
  kill(): Promise<void>;
  /** Brings back what was killed, on the same port; resolves when it answers. */
  start(): Promise<void>;
  /** SIGSTOP: hangs with its connections open. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Kills it and removes its data. */
  stop(): Promise<void>;
}

export interface OwnKafka extends Omit<OwnEngine, 'kill' | 'start' | 'pause' | 'resume'> {
  readonly brokers: readonly string[];
  /** Addresses of the listeners of its KafkaSecurity, by name. */
  readonly further: ReadonlyMap<string, string>;
  /** Broker n of `brokers`, counted from 1; default 1. */
  kill(n?: number): Promise<void>;
  start(n?: number): Promise<void>;
  pause(n?: number): Promise<void>;
  resume(n?: number): Promise<void>;
}

/** What a single broker has beside its plaintext listener. */
interface KafkaSecurity {
  /** Each on a port of its own, under the name of its protocol. */
  readonly listeners: readonly ('SSL' | 'SASL_SSL')[];
  /** Lines of server.properties. */
  readonly conf: readonly string[];
  readonly scramUsers: readonly { readonly mechanism: string; readonly name: string; readonly password: string }[];
}

type OwnKafkaOptions =
  | { readonly brokers: 1; readonly security: KafkaSecurity; readonly conf?: never }
  /** Clients are told `advertisedPort` of 127.0.0.1: of a proxy before the broker. `conf`: lines of server.properties. */
  | {
      readonly brokers: 1;
      readonly advertisedPort?: number;
      readonly conf?: readonly string[];
      readonly security?: never;
    }
  | { readonly brokers: 3; readonly security?: never; readonly conf?: never };

/** A broker of minutes spends most on compiling itself well, and less than half of it all when it is compiled quickly alone. */
const shortLived = '-XX:+UseSerialGC -XX:TieredStopAtLevel=1';

/** What the engines of all tests hold at a time is a fraction of it. */
const memoryFolderMinBytes = 8 * 2 ** 30;

/**
 * Of data that ends with a test: in memory, where the system has a folder for that. A topic is files, and each test makes and removes some 200 partitions: on a
 * disk that was a third of what a broker did. A kill takes nothing from either.
 */
export const engineDataFolder = memoryFolder() ?? tmpdir();

function memoryFolder(): string | null {
  const folder = '/dev/shm';
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= memoryFolderMinBytes && freemem() >= memoryFolderMinBytes ? folder : null;
  } catch {
    return null;
  }
}

/** Three brokers: replication factor 3, min.insync.replicas 2 by default. About 3 s for one, 9 to 18 s for three. */
export async function startOwnKafka(options: OwnKafkaOptions): Promise<OwnKafka> {
  const { brokers: count, security } = options;
  const furtherCount = security?.listeners.length ?? 0;
  const port = await freePorts(2 * count + furtherCount);
  const further = security?.listeners.map((name, i) => ({ name, address: `127.0.0.1:${port + 2 * count + i}` })) ?? [];
  const own = await ownScript('kafka.sh', {
    ...(security === undefined ? {} : securityVariables(security, further)),
    ...(security === undefined ? { KAFKA_EXTRA_CONF: confOf(options).join('\n') } : {}),
    KAFKA_PORT: String(port),
    KAFKA_CONTROLLER_PORT: String(port + 1),
    KAFKA_CLUSTER_PORT: String(port),
    KAFKA_CLUSTER_CONTROLLER_PORT: String(port + count),
    KAFKA_HEAP: '384m',
    KAFKA_JVM_OPTS: shortLived,
  });
  const node = (n: number) => (count === 1 ? [] : [String(n)]);
  const all = Array.from({ length: count }, (_, i) => i + 1);
  await own.start(count === 1 ? ['start'] : ['start-cluster']);
  const brokers = all.map((n) => `127.0.0.1:${port + n - 1}`);
  return {
    address: brokers.join(','),
    brokers,
    further: new Map(further.map(({ name, address }) => [name, address])),
    kill: (n = 1) => own.run('kill', ...node(n)),
    start: (n = 1) => (count === 1 ? own.run('start') : own.run('start-node', String(n))),
    pause: (n = 1) => own.run('pause', ...node(n)),
    resume: (n = 1) => own.run('resume', ...node(n)),
    stop: own.stop,
  };
}

function confOf(options: OwnKafkaOptions): readonly string[] {
  const { advertisedPort = null } = 'advertisedPort' in options ? options : {};
  const told = advertisedPort === null ? [] : [`advertised.listeners=PLAINTEXT://127.0.0.1:${advertisedPort}`];
  return [...told, ...(options.conf ?? [])];
}

function securityVariables(
  { conf, scramUsers }: KafkaSecurity,
  listeners: readonly { readonly name: string; readonly address: string }[],
): Readonly<Record<string, string>> {
  return {
    KAFKA_LISTENERS: listeners.map(({ name, address }) => `${name}://${address}`).join(','),
    KAFKA_EXTRA_CONF: conf.join('\n'),
    KAFKA_SCRAM_USERS: scramUsers
      .map(({ mechanism, name, password }) => `${mechanism}=[name=${name},password=${password}]`)
      .join('\n'),
  };
}

export async function startOwnMongo(): Promise<OwnEngine> {
  const port = await freePort();
  return startOne('mongo.sh', { MONGO_PORT: String(port) }, `mongodb://127.0.0.1:${port}/?replicaSet=rs0`);
}

export async function startOwnRedis(): Promise<OwnEngine> {
  const port = await freePort();
  return startOne('redis.sh', { REDIS_PORT: String(port) }, `redis://127.0.0.1:${port}`);
}

/** @param options `inMemory`: its schemas end with it */
export async function startOwnRegistry({ inMemory = false } = {}): Promise<OwnEngine> {
  const port = await freePort();
  const variables = { REGISTRY_PORT: String(port), REGISTRY_IN_MEMORY: inMemory ? '1' : '0' };
  return startOne('registry.sh', variables, `http://127.0.0.1:${port}/apis/ccompat/v7`);
}

async function startOne(script: string, ports: Readonly<Record<string, string>>, address: string): Promise<OwnEngine> {
  const own = await ownScript(script, ports);
  await own.start(['start']);
  return {
    address,
    kill: () => own.run('kill'),
    start: () => own.run('start'),
    pause: () => own.run('pause'),
    resume: () => own.run('resume'),
    stop: own.stop,
  };
}

/** A script of test/engines with a run folder of its own: what it downloaded is shared, data, ports and pids are not. */
async function ownScript(name: string, ports: Readonly<Record<string, string>>) {
  const runDir = await mkdtemp(join(engineDataFolder, 'herald-engine-'));
  const script = fileURLToPath(new URL(`../engines/${name}`, import.meta.url));
  const env = { ...process.env, ...ports, ENGINES_RUN_DIR: runDir };
  const guard = guardian(script, env, runDir);

  const run = (...args: readonly string[]): Promise<void> =>
    new Promise((resolve, reject) => {
      execFile(script, args, { env, timeout: 180_000 }, (error, stdout, stderr) => {
        if (error === null) resolve();
        else reject(new Error(`${name} ${args.join(' ')} failed:\n${stdout}${stderr}`));
      });
    });
  const stop = async (): Promise<void> => {
    await guard.end();
    await rm(runDir, { recursive: true, force: true });
  };
  return {
    run,
    stop,
    async start(args: readonly string[]): Promise<void> {
      try {
        await run(...args);
      } catch (error) {
        await stop();
        throw error;
      }
    },
  };
}

/** Kills all nodes and removes the data once its standard input ends: by us, or with this process, even one that was killed. */
function guardian(script: string, env: NodeJS.ProcessEnv, runDir: string) {
  const kills = 'cat; for node in "" 1 2 3; do "$0" kill $node; done; rm -rf -- "$1"';
  const child = spawn('bash', ['-c', kills, script, runDir], {
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.unref();
  return {
    async end(): Promise<void> {
      child.ref();
      child.stdin.end();
      await exited;
    },
  };
}
