// Turns a record's value into a log entry; schemas that weren't met yet come from the registry, once each.

import { deadEntry, entryOf } from '../../codec/entry.ts';
import { type Codec, UnknownSchemaError } from '../../codec/index.ts';
import type { EventType } from '../../domain/events.ts';
import type { LogEntry, Position } from '../../ports/event-log.ts';
import type { Registry } from './registry.ts';
import type { SchemaIds } from './subjects.ts';
import { parseWire } from './wire-format.ts';

export interface EventRecord extends Position {
  /** UTC ms. */
  readonly appendedAt: number;
  /** In wire format, if it is one of ours; empty for a record without a value. */
  readonly value: Buffer;
}

export interface EntryDecoder {
  /** The event type that the value's schema stands for, whether this version can read it or not; undefined: to be learned first; null: not in wire format. */
  typeOf(value: Buffer): string | null | undefined;
  /** Fetches the schema of a value. @throws UnknownSchemaError when the registry doesn't answer or doesn't know it: ask again */
  learn(value: Buffer): Promise<void>;
  /** What isn't in wire format, or doesn't decode under its schema, is `undecodable`. @throws UnknownSchemaError when the schema is not learned, or this version can't read it */
  decode(record: EventRecord): LogEntry;
}

export interface DecoderDependencies {
  readonly registry: Registry;
  readonly codec: Codec;
  /** Of the schemas that this process writes with. */
  readonly ids: SchemaIds;
}

interface KnownSchema {
  readonly type: string;
  readonly fingerprint: string;
}

/** Of our records' full names. */
const namespace = 'herald.';

export function createEntryDecoder({ registry, codec, ids }: DecoderDependencies): EntryDecoder {
  /** As many as the log has schemas: one for each version of a type. */
  const known = new Map<number, KnownSchema>();
  const learning = new Map<number, Promise<void>>();
  for (const { type, fingerprint } of codec.newestSchemas()) {
    const id = ids.get(type as EventType);
    if (id !== undefined) known.set(id, { type, fingerprint });
  }

  const fetchSchema = async (id: number): Promise<void> => {
    const { name, fingerprint, json } = await fetched(registry, id);
    const type = name.startsWith(namespace) ? name.slice(namespace.length) : name;
    try {
      codec.addSchema({ type, fingerprint, json });
    } catch (error) {
      // Decoding says so again, of each event: another version of Herald may be able to.
      if (!(error instanceof UnknownSchemaError)) throw error;
    }
    known.set(id, { type, fingerprint });
  };

  return {
    typeOf(value) {
      const wire = parseWire(value);
      return wire === null ? null : known.get(wire.schemaId)?.type;
    },
    async learn(value) {
      const wire = parseWire(value);
      if (wire === null || known.has(wire.schemaId)) return;
      const { schemaId } = wire;
      const running = learning.get(schemaId) ?? fetchSchema(schemaId).finally(() => learning.delete(schemaId));
      learning.set(schemaId, running);
      await running;
    },
    decode(record) {
      const { value } = record;
      const wire = parseWire(value);
      if (wire === null) return deadEntry(record, 'the record is not in wire format (0, schema id, Avro datum)', value);
      const schema = known.get(wire.schemaId);
      if (schema === undefined) throw new UnknownSchemaError(`schema ${wire.schemaId} is not known`);
      return entryOf(codec, record, schema, wire.datum);
    },
  };
}

async function fetched(registry: Registry, id: number) {
  try {
    return await registry.schema(id);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UnknownSchemaError(`schema ${id} could not be fetched from the schema registry: ${why}`);
  }
}
