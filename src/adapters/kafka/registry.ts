// The schema registry (Confluent's API): looks schemas up, registers them, and tells what is wrong from what may pass.

import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';

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
  /** Makes the subject BACKWARD_TRANSITIVE when it is new. @throws RegistryRefusal when the schema doesn't fit those that the subject has */
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
/** At a first start some 150 requests follow each other; the registry gets them eight at a time. */
const socketsMax = 8;
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
    ...(auth === null ? {} : { auth }),
  });
  const headers: Record<string, string> = auth === null ? {} : { authorization: basic(auth) };

  return {
    async subjects() {
      const response = await fetch(`${host}/subjects`, { headers, signal: AbortSignal.timeout(requestTimeoutMs) });
      if (refusals.has(response.status)) throw new RegistryRefusal(`status ${response.status}`, undefined);
      if (!response.ok) throw new Error(`status ${response.status}`);
      return new Set((await response.json()) as string[]);
    },
    async lookup(subject, json) {
      try {
        return await inTime(client.getRegistryIdBySchema(subject, { type: SchemaType.AVRO, schema: json }));
      } catch (error) {
        // The client's word for "404".
        if (error instanceof Error && error.name === 'ConfluentSchemaRegistryError') return null;
        throw failureOf(error);
      }
    },
    async register(subject, json) {
      const compatibility = COMPATIBILITY.BACKWARD_TRANSITIVE;
      try {
        const schema = { type: SchemaType.AVRO as const, schema: json };
        return (await inTime(client.register(schema, { subject, compatibility }))).id;
      } catch (error) {
        throw failureOf(error);
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

function parseUrl(text: string): { host: string; auth: { username: string; password: string } | null } {
  const url = URL.parse(text);
  if (url === null) throw new Error('the URL of the schema registry is none');
  const username = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  url.username = '';
  url.password = '';
  const host = url.href.replace(/\/+$/, '');
  return { host, auth: username === '' ? null : { username, password } };
}

function basic({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function failureOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const status: unknown = Reflect.get(error, 'status');
  const isRefusal = error.name === 'ConfluentSchemaRegistryCompatibilityError' || refusals.has(Number(status));
  return isRefusal ? new RegistryRefusal(error.message, error) : error;
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
