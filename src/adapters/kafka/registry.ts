// The schema registry (Confluent's API): looks schemas up, registers them, and tells what is wrong from what may pass.

import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';

export interface RegistrySchema {
  /** The record's full name: namespace.name */
  readonly name: string;
  /** MD5 of the canonical form, in hex. */
  readonly fingerprint: string;
  readonly json: string;
}

export interface Registry {
  /** The names of all subjects. */
  subjects(): Promise<ReadonlySet<string>>;
  /** The id of a schema that the subject has; null: it hasn't. */
  lookup(subject: string, json: string): Promise<number | null>;
  /**
   * Makes the subject BACKWARD_TRANSITIVE when it is new. Safe to repeat, and for several processes at once.
   * @throws RegistryRefusal when the schema doesn't fit those that the subject has, or the subject is set up otherwise
   */
  register(subject: string, json: string): Promise<number>;
  /** @throws Error when there is no such schema or it can't be fetched */
  schema(id: number): Promise<RegistrySchema>;
  close(): void;
}

/** Said by the registry, and repeating it won't help: incompatible, not allowed, set up otherwise. */
export class RegistryRefusal extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'RegistryRefusal';
  }
}

/** What the client's types leave out. */
interface AvroType {
  readonly name?: string;
  fingerprint?(algorithm: string): Buffer;
  schema?(options: { exportAttrs: true }): unknown;
}

const requestTimeoutMs = 5_000;
/** At a first start some 200 requests follow each other; the registry gets them eight at a time. */
const socketsMax = 8;
/**
 * A registry answers "conflict" to a schema that doesn't fit, and to one of two processes that make a subject or a version at the same moment. The second
 * try meets what the other one has made; each further one is for one more process, or one more version: a copy registers all that a log was written with.
 */
const registerTriesMax = 8;
/** What another is making may not be seen yet, by a registry that is busy for a second: 20, 40, 80 ms and so on, 2.5 s in all. */
const registerPauseMs = 20;
const conflict = 409;
const notFound = 404;
const refusals = new Set([401, 403, 409, 422]);
const clientId = 'herald';

/** `url` may hold user:password@; no error or log line does. */
export function createRegistry(url: string): Registry {
  const { host, auth } = parseUrl(url);
  const options = { keepAlive: true, maxSockets: socketsMax };
  const agent = host.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
  const client = new SchemaRegistry({
    clientId,
    host,
    agent,
    retry: { retries: 0 },
    ...(auth === null ? {} : { auth: { ...auth } }),
  });
  const ask = createAsk(host, { agent, auth });
  const compatibility = COMPATIBILITY.BACKWARD_TRANSITIVE;

  const lookup = async (subject: string, json: string): Promise<number | null> => {
    try {
      return await inTime(client.getRegistryIdBySchema(subject, { type: SchemaType.AVRO, schema: json }));
    } catch (error) {
      // The client's word for "404".
      if (error instanceof Error && error.name === 'ConfluentSchemaRegistryError') return null;
      throw failureOf(error);
    }
  };

  /**
   * Before the first schema is there: the client does it afterwards, and a process that comes or is killed in between leaves a subject that takes anything.
   * What a registry has against it, the client meets again.
   */
  const setUp = async (subject: string): Promise<void> => {
    const path = `/config/${encodeURIComponent(subject)}`;
    if ((await ask('GET', path)).status === notFound) await ask('PUT', path, { compatibility });
  };

  return {
    async subjects() {
      const { status, body } = await ask('GET', '/subjects');
      if (refusals.has(status)) throw new RegistryRefusal(`status ${status}`, undefined);
      if (status !== 200) throw new Error(`status ${status}`);
      return new Set(JSON.parse(body) as string[]);
    },
    lookup,
    async register(subject, json) {
      const schema = { type: SchemaType.AVRO as const, schema: json };
      for (let tries = 1; ; tries++) {
        try {
          await setUp(subject);
          return (await inTime(client.register(schema, { subject, compatibility }))).id;
        } catch (error) {
          if (statusOf(error) !== conflict || tries === registerTriesMax) throw failureOf(error);
        }
        const id = await lookup(subject, json);
        if (id !== null) return id;
        await pause(registerPauseMs * 2 ** (tries - 1));
      }
    },
    async schema(id) {
      const type = (await inTime(client.getSchema(id))) as AvroType;
      if (type.name === undefined || type.fingerprint === undefined || type.schema === undefined)
        throw new Error(`schema ${id} of the registry is not an Avro record`);
      const fingerprint = type.fingerprint('md5').toString('hex');
      return { name: type.name, fingerprint, json: JSON.stringify(type.schema({ exportAttrs: true })) };
    },
    close: () => agent.destroy(),
  };
}

interface Auth {
  readonly username: string;
  readonly password: string;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** For what the client doesn't do, over the same connections. */
function createAsk(host: string, { agent, auth }: { agent: HttpAgent; auth: Auth | null }) {
  const send = host.startsWith('https:') ? httpsRequest : httpRequest;
  const headers = { 'content-type': 'application/json', ...(auth === null ? {} : { authorization: basic(auth) }) };
  return (method: 'GET' | 'PUT', path: string, body?: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(requestTimeoutMs);
      const request = send(`${host}${path}`, { method, agent, headers, signal }, (response) => {
        text(response).then((answered) => resolve({ status: response.statusCode ?? 0, body: answered }), reject);
      });
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

function parseUrl(address: string): { host: string; auth: Auth | null } {
  const url = URL.parse(address);
  if (url === null) throw new Error('the URL of the schema registry is none');
  const username = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  url.username = '';
  url.password = '';
  const host = url.href.replace(/\/+$/, '');
  return { host, auth: username === '' ? null : { username, password } };
}

function basic({ username, password }: Auth): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function failureOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const isRefusal = error.name === 'ConfluentSchemaRegistryCompatibilityError' || refusals.has(statusOf(error));
  return isRefusal ? new RegistryRefusal(error.message, error) : error;
}

/** NaN: the registry didn't answer. */
function statusOf(error: unknown): number {
  return error instanceof Error ? Number(Reflect.get(error, 'status')) : Number.NaN;
}

/** The client has no timeout of its own. */
function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const complain = () => reject(new Error(`the schema registry did not answer within ${requestTimeoutMs} ms`));
    timer = setTimeout(complain, requestTimeoutMs);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
