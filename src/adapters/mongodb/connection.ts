// The connection to MongoDB that all adapters of a process share: what is acknowledged is on the majority's disks, and a server that is away is told
// of within seconds.

import { MongoClient, MongoServerError, MongoServerSelectionError, type Db } from 'mongodb';

import type { Logger } from '../../ports/logger.ts';
import { mendDriverWrites } from './driver-writes.ts';

/** Trying again can't help: the start stops. */
class MongoRefusal extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'MongoRefusal';
  }
}

export interface MongoConnection {
  readonly client: MongoClient;
  /** The database that the URL's path names, else `herald`. */
  readonly db: Db;
  close(): Promise<void>;
}

export interface MongoConnectionOptions {
  readonly url: string;
  readonly logger: Logger;
  /** Ends the waiting for a server that is away. */
  readonly signal?: AbortSignal;
}

/**
 * Waits for a server that is away, and says so.
 * @throws MongoRefusal (without a password in its text) when waiting won't help: a URL that can't be read, refused credentials, a server that is no
 * member of a replica set or too old; Error when the signal aborts
 */
export async function connectMongo({ url, logger, signal }: MongoConnectionOptions): Promise<MongoConnection> {
  const client = clientOf(url);
  const hosts = client.options.srvHost ?? client.options.hosts.map(String).join(',');
  let isStandalone = false;
  client.on('serverDescriptionChanged', ({ newDescription }) => {
    isStandalone = newDescription.type === 'Standalone';
  });
  const connection: MongoConnection = {
    client,
    db: client.db(hasPath(url) ? client.options.dbName : defaultDb),
    close: () => client.close(),
  };
  try {
    for (let failures = 0; ; failures++) {
      const problem = await problemOf(client, signal);
      if (isStandalone) throw new MongoRefusal(standaloneMessage);
      if (problem === null) break;
      signal?.throwIfAborted();
      if (failures % attemptsPerLogLine === 0) logger.warn('waiting for MongoDB', { hosts, reason: problem });
      await rest(signal);
    }
  } catch (error) {
    await client.close();
    throw error;
  }
  client.removeAllListeners('serverDescriptionChanged');
  return connection;
}

const defaultDb = 'herald';

const standaloneMessage =
  'MONGODB_URL: this MongoDB server is no member of a replica set, and only those have transactions: start it with --replSet and run rs.initiate(), ' +
  'also when there is but one';

/** Wire version of MongoDB 4.4, the oldest that is supported. */
const wireVersionMin = 9;

/** An attempt lasts `serverSelectionMs` where nothing answers: a line every 10 s. */
const attemptsPerLogLine = 4;
const restBetweenAttemptsMs = 500;

/**
 * A server that refuses connections: calls reject after 2 s of looking for another one.
 * A server that hangs: the monitor, which hears from it every second, gives it up after 1 + 1.5 s and cuts the calls in flight; what may be repeated is,
 * and rejects 2 s later: 4.5 s.
 */
const serverSelectionMs = 2000;
const heartbeatMs = 1000;
const connectMs = 1500;

/** 12 numbers of 3 read models at once at the very most, or as many queries. A call that waits longer for one of these is better refused. */
const connectionsMax = 40;
const connectionWaitMs = 3000;

function hasPath(url: string): boolean {
  return /^[^/]+:\/\/[^/]+\/[^?]/.test(url);
}

function clientOf(url: string): MongoClient {
  mendDriverWrites();
  let problem: string;
  try {
    return new MongoClient(url, {
      appName: 'herald',
      writeConcern: { w: 'majority', journal: true },
      readConcern: { level: 'majority' },
      readPreference: 'primary',
      retryReads: true,
      retryWrites: true,
      ignoreUndefined: true,
      serverSelectionTimeoutMS: serverSelectionMs,
      heartbeatFrequencyMS: heartbeatMs,
      connectTimeoutMS: connectMs,
      maxPoolSize: connectionsMax,
      maxConnecting: 4,
      waitQueueTimeoutMS: connectionWaitMs,
    });
  } catch (error) {
    problem = error instanceof Error ? error.name : 'unknown';
  }
  // The driver's own text may quote the URL, which may hold a password.
  throw new MongoRefusal(`MONGODB_URL: can't be read (${problem})`);
}

/** Null once a member of a replica set with a primary answers; else why not, when waiting may help. @throws Error when it won't */
async function problemOf(client: MongoClient, signal: AbortSignal | undefined): Promise<string | null> {
  let wireVersion: number;
  try {
    await client.connect();
    const hello = await client.db('admin').command({ hello: 1 }, signal === undefined ? {} : { signal });
    wireVersion = Number(hello['maxWireVersion']);
  } catch (error) {
    if (error instanceof MongoServerError && isRefusal(error)) {
      throw new MongoRefusal(`MONGODB_URL: MongoDB refuses its user: ${error.codeName ?? error.code}`, error);
    }
    if (error instanceof MongoServerSelectionError) return reasonOf(error);
    return error instanceof Error ? error.message : String(error);
  }
  if (wireVersion < wireVersionMin) throw new MongoRefusal('MONGODB_URL: MongoDB 4.4 or newer is needed');
  return null;
}

/** Unauthorized, AuthenticationFailed. */
function isRefusal(error: MongoServerError): boolean {
  return error.code === 13 || error.code === 18;
}

function reasonOf(error: MongoServerSelectionError): string {
  const found = [...(error.reason?.servers.values() ?? [])].map(({ address, type, error: cause }) =>
    cause === null ? `${address} is ${type}` : cause.message,
  );
  if (found.length > 0) return found.join('; ');
  const set = error.reason?.setName ?? '';
  return `no server there is a member of the replica set ${set}: was it started with --replSet ${set}, and rs.initiate() run?`;
}

function rest(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, restBetweenAttemptsMs);
    signal?.addEventListener('abort', end, { once: true });
  });
}
