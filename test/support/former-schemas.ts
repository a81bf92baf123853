// Events as the first version of their schema wrote them: what logs of before hold.

import avro from 'avsc';

import { readSchemaFiles } from '../../src/codec/schema-files.ts';
import type { DomainEvent } from '../../src/domain/events.ts';

export interface FormerEvent {
  readonly type: string;
  readonly fingerprint: string;
  readonly json: string;
  readonly bytes: Buffer;
}

export function firstWritten(event: DomainEvent): FormerEvent {
  const file = readSchemaFiles().find(({ type, version }) => type === event.type && version === 1);
  if (file === undefined) throw new Error(`no schema for ${event.type}`);
  const schema = avro.Type.forSchema(JSON.parse(file.json) as avro.Schema);
  const fingerprint = schema.fingerprint('md5').toString('hex');
  return { type: event.type, fingerprint, json: file.json, bytes: schema.toBuffer(event) };
}
