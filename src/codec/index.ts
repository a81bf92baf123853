// Events to Avro bytes and back. Written with the newest schema of a type; read with whichever one wrote, lifted to the newest.

import avro from 'avsc';

import type { Erasures } from '../domain/erasure.ts';
import { createErasures } from '../domain/erasure.ts';
import type { DomainEvent, EventType } from '../domain/events.ts';
import type { EventId, TenantId } from '../domain/ids.ts';
import type { EventHead } from '../ports/event-log.ts';
import { hasHead, readHead } from './head.ts';
import { readSchemaFiles } from './schema-files.ts';

/** The bytes are not what their schema says: they will never decode. */
export class UndecodableError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UndecodableError';
  }
}

/** An event type or a schema that this version doesn't know: another, later version may. */
export class UnknownSchemaError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnknownSchemaError';
  }
}

export interface EventSchema {
  readonly type: string;
  /** MD5 of the schema's Avro canonical form, in hex. */
  readonly fingerprint: string;
  readonly json: string;
}

export interface EncodedEvent {
  readonly type: EventType;
  readonly fingerprint: string;
  /** The bare Avro datum. */
  readonly bytes: Buffer;
}

export interface Codec {
  /**
   * What is erased of all that this codec reads and writes. Each erasure that it decodes is noted before anybody has it, so whoever has read one sees nothing
   * more of what it names; those that stand behind are for the log's adapter to read first.
   */
  readonly erasures: Erasures;
  /** Of what is erased nothing comes to be written any more; its bytes lie beside those before and behind it. @throws Error when the event isn't what its schema says: a bug */
  encode(event: DomainEvent): EncodedEvent;
  /** The same of many, in memory of their own: a piece of it for each costs a third of encoding it. @throws Error as encode does */
  encodeAll(events: readonly DomainEvent[]): readonly EncodedEvent[];
  /** @throws UndecodableError @throws UnknownSchemaError */
  decode(type: string, fingerprint: string, bytes: Buffer): DomainEvent;
  /** What an event begins with; the rest may be undecodable still. @throws UndecodableError @throws UnknownSchemaError */
  headOf(type: string, fingerprint: string, bytes: Buffer): EventHead;
  /** The schema that each type is written with. */
  newestSchemas(): readonly EventSchema[];
  /** Every schema that this codec can read with. */
  schemas(): readonly EventSchema[];
  /** A schema that a log kept, written by another version. @throws UnknownSchemaError when it can't be lifted to the newest */
  addSchema(schema: EventSchema): void;
}

type Resolver = ReturnType<avro.Type['createResolver']>;

interface Reader {
  readonly schema: EventSchema;
  readonly newest: avro.Type;
  readonly writer: avro.Type;
  /** undefined: it is the newest. null: nothing of it has been read yet; a log has events of few versions, and those in the files can all be lifted. */
  resolver: Resolver | undefined | null;
}

interface KnownType {
  readonly name: EventType;
  readonly newest: avro.Type;
  readonly fingerprint: string;
  /** By the fingerprint of what wrote. */
  readonly readers: Map<string, Reader>;
}

export function createCodec(): Codec {
  fileTypes ??= compileFiles();
  const known = new Map(fileTypes.map((type) => [type.name as string, { ...type, readers: new Map(type.readers) }]));
  const schemas = fileTypes.flatMap(({ readers }) => [...readers.values()].map(({ schema }) => schema));
  const newest = schemas.filter(({ type, fingerprint }) => known.get(type)?.fingerprint === fingerprint);
  const erasures = createErasures();

  const readerOf = (type: string, fingerprint: string) => {
    const kind = known.get(type);
    if (kind === undefined) throw new UnknownSchemaError(`event type ${type} is not known to this version of Herald`);
    const reader = kind.readers.get(fingerprint);
    if (reader === undefined) throw new UnknownSchemaError(`schema ${fingerprint} of event type ${type} is not known`);
    return { name: kind.name, reader };
  };

  const kindOf = (event: DomainEvent): KnownType => {
    const kind = known.get(event.type);
    if (kind === undefined) throw new Error(`no schema for event type ${event.type}`);
    return kind;
  };

  const encodeBy = (pack: Packer, event: DomainEvent): EncodedEvent => {
    const { name, fingerprint, newest: type } = kindOf(event);
    return { type: name, fingerprint, bytes: pack(type, erasures.shown(event)) };
  };
  const packOne = createPacker(packOneBytes);

  return {
    erasures,
    encode: (event) => encodeBy(packOne, event),
    encodeAll(events) {
      const pack = createPacker(Math.min(events.length * packedBytes, packBytesMax));
      return events.map((event) => encodeBy(pack, event));
    },
    decode(type, fingerprint, bytes) {
      const { name, reader } = readerOf(type, fingerprint);
      const event = Object.assign(read(reader, bytes), { type: name }) as DomainEvent;
      erasures.note(event);
      return event;
    },
    headOf(type, fingerprint, bytes) {
      const { name } = readerOf(type, fingerprint);
      const head = readHead(bytes);
      if (head === null) throw new UndecodableError('it ends before it says whose it is');
      const { eventId, occurredAt, tenantId } = head;
      return { type: name, eventId: eventId as EventId, occurredAt, tenantId: tenantId as TenantId };
    },
    newestSchemas: () => newest,
    schemas: () => schemas,
    addSchema(schema) {
      const kind = known.get(schema.type);
      if (kind === undefined)
        throw new UnknownSchemaError(`event type ${schema.type} is not known to this version of Herald`);
      if (kind.readers.has(schema.fingerprint)) return;
      const reader = readerFor(kind.newest, parse(schema.json), schema);
      reader.resolver = resolverFor(reader);
      kind.readers.set(schema.fingerprint, reader);
      schemas.push(schema);
    },
  };
}

/** Of the files; null until a codec is made. Compiling them takes tens of milliseconds: all codecs of a thread share it. */
let fileTypes: readonly KnownType[] | null = null;

function compileFiles(): KnownType[] {
  const written = readSchemaFiles().map(({ type, json }) => {
    const writer = parse(json);
    return { writer, schema: { type, fingerprint: fingerprintOf(writer), json } };
  });
  const byType = Map.groupBy(written, ({ schema }) => schema.type);
  return [...byType].map(([type, versions]): KnownType => {
    // They ascend by version.
    const { writer: newest, schema } = versions.at(-1) as (typeof versions)[number];
    const readers = versions.map((of): [string, Reader] => [
      of.schema.fingerprint,
      readerFor(newest, of.writer, of.schema),
    ]);
    return { name: type as EventType, newest, fingerprint: schema.fingerprint, readers: new Map(readers) };
  });
}

/** Of a small event; what is larger gets more. */
const packedBytes = 512;
const packBytesMax = 64 * 1024;
/** Of what is encoded one by one; as long as one of 30 events is held, their memory is. */
const packOneBytes = 16 * 1024;

type Packer = (type: avro.Type, value: object) => Buffer;

/** Encodes values one behind the other; full memory is followed by as much again. */
function createPacker(packBytes: number): Packer {
  let memory = Buffer.allocUnsafeSlow(packBytes);
  let at = 0;
  return (type, value) => {
    let end = type.encode(value, memory, at);
    if (end < 0) {
      // So many bytes were missing.
      memory = Buffer.allocUnsafeSlow(Math.max(packBytes, memory.length - at - end));
      at = 0;
      end = type.encode(value, memory, 0);
    }
    const bytes = memory.subarray(at, end);
    at = end;
    return bytes;
  };
}

function read(reader: Reader, bytes: Buffer): object {
  if (reader.resolver === null) reader.resolver = resolverFor(reader);
  try {
    return reader.newest.fromBuffer(bytes, reader.resolver) as object;
  } catch (error) {
    throw new UndecodableError(error instanceof Error ? error.message : String(error));
  }
}

function readerFor(newest: avro.Type, writer: avro.Type, schema: EventSchema): Reader {
  if (!hasHead(writer)) throw new UnknownSchemaError(`schema ${schema.fingerprint} of ${schema.type} begins otherwise`);
  return { schema, newest, writer, resolver: newest === writer ? undefined : null };
}

function resolverFor({ newest, writer, schema }: Reader): Resolver | undefined {
  if (newest.equals(writer)) return undefined;
  try {
    return newest.createResolver(writer);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UnknownSchemaError(
      `schema ${schema.fingerprint} of ${schema.type} can't be read as the newest one: ${why}`,
    );
  }
}

function parse(json: string): avro.Type {
  // Events are data: what is read has no methods of avsc's.
  return avro.Type.forSchema(JSON.parse(json) as avro.Schema, { omitRecordMethods: true });
}

function fingerprintOf(type: avro.Type): string {
  return type.fingerprint('md5').toString('hex');
}
