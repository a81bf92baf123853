// The codec: every event comes back as it went, old schemas are lifted, bad bytes and unknown schemas are told apart.

import { describe, expect, it, jest } from '@jest/globals';
import avro from 'avsc';

import type { EncodedEvent } from '../../src/codec/index.ts';
import { createCodec, UndecodableError, UnknownSchemaError } from '../../src/codec/index.ts';
import { readSchemaFiles } from '../../src/codec/schema-files.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { anyEvent } from '../support/events.ts';
import { requested } from '../dispatchers/work-events.ts';
import { firstWritten } from '../support/former-schemas.ts';
import fc from '../support/properties.ts';

const codec = createCodec();
/** Of a request, what came with later versions. */
const laterFields = {
  expiresAt: null,
  tracestate: null,
  baggage: null,
  replyTo: null,
  cc: [],
  bcc: [],
  transactional: false,
};
const empty = Buffer.alloc(0);
const plain = (event: object): unknown => JSON.parse(JSON.stringify(event));

describe('codec', () => {
  it('gives back every event as it was encoded', () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const { type, fingerprint, bytes } = codec.encode(event);
        expect(plain(codec.decode(type, fingerprint, bytes))).toEqual(plain(event));
      }),
      { numRuns: 500 },
    );
  });

  it('leaves what it has encoded as it is, whatever it encodes next, larger than the memory that they share too', () => {
    const small = requested();
    const large: DomainEvent = { ...small, request: { ...small.request, body: 'é'.repeat(40_000) } };
    fc.assert(
      fc.property(fc.array(anyEvent, { minLength: 1, maxLength: 60 }), (some) => {
        const events = [...some, large, ...some];
        const encoded = events.map((event) => codec.encode(event));
        const together = codec.encodeAll(events);
        for (const [i, event] of events.entries()) {
          const { type, fingerprint, bytes } = encoded[i] as EncodedEvent;
          expect(plain(codec.decode(type, fingerprint, bytes))).toMatchObject(plain(event) as object);
          expect(bytes.equals(together[i]?.bytes ?? empty)).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('calls truncated or trailing bytes undecodable', () => {
    fc.assert(
      fc.property(anyEvent, fc.integer({ min: 1, max: 10 }), (event, cut) => {
        const { type, fingerprint, bytes } = codec.encode(event);
        expect(() => codec.decode(type, fingerprint, bytes.subarray(0, bytes.length - cut))).toThrow(UndecodableError);
        expect(() => codec.decode(type, fingerprint, Buffer.concat([bytes, Buffer.alloc(cut)]))).toThrow(
          UndecodableError,
        );
      }),
    );
  });

  it('tells whose an event is by its first bytes alone, whichever version of its schema wrote it', () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const { type: of, eventId, occurredAt, tenantId } = event;
        const head = { type: of, eventId, occurredAt, tenantId };
        for (const { type, fingerprint, bytes } of [codec.encode(event), firstWritten(event)]) {
          expect(codec.headOf(type, fingerprint, bytes)).toEqual(head);
          expect(codec.headOf(type, fingerprint, bytes.subarray(0, bytes.length - 1))).toEqual(head);
        }
      }),
    );
    const [event] = fc.sample(anyEvent, { seed: 1, numRuns: 1 }) as [DomainEvent];
    const { type, fingerprint, bytes } = codec.encode(event);
    for (const cut of [bytes.subarray(0, 0), bytes.subarray(0, 20), Buffer.alloc(40, 0xff), Buffer.alloc(40, 0x01)])
      expect(() => codec.headOf(type, fingerprint, cut)).toThrow(UndecodableError);
    expect(() => codec.headOf(type, 'ffffffffffffffffffffffffffffffff', bytes)).toThrow(UnknownSchemaError);
  });

  it('tells an unknown type or schema from bad bytes: another version may know it', () => {
    const [event] = fc.sample(anyEvent, { seed: 1, numRuns: 1 }) as [DomainEvent];
    const { type, fingerprint, bytes } = codec.encode(event);
    expect(() => codec.decode('SomethingNew', fingerprint, bytes)).toThrow(UnknownSchemaError);
    expect(() => codec.decode(type, 'ffffffffffffffffffffffffffffffff', bytes)).toThrow(UnknownSchemaError);
  });

  it('reads what another version wrote once it has its schema, lifted to the newest', () => {
    const newest = newestOf('CancelRequested');
    const later = { ...newest, fields: [...newest.fields, { name: 'why', type: 'string' }] };
    const writer = avro.Type.forSchema(later as avro.Schema);
    const fingerprint = writer.fingerprint('md5').toString('hex');
    const event = fc
      .sample(anyEvent, { seed: 7, numRuns: 200 })
      .find((e) => e.type === 'CancelRequested') as DomainEvent;
    const bytes = writer.toBuffer({ ...event, why: 'changed my mind' });
    const reader = createCodec();
    expect(() => reader.decode('CancelRequested', fingerprint, bytes)).toThrow(UnknownSchemaError);
    reader.addSchema({ type: 'CancelRequested', fingerprint, json: JSON.stringify(later) });
    expect(plain(reader.decode('CancelRequested', fingerprint, bytes))).toEqual(plain(event));
    // Another log may not have it.
    expect(() => createCodec().decode('CancelRequested', fingerprint, bytes)).toThrow(UnknownSchemaError);
  });

  it('compiles nothing that another one of its thread has compiled, and nothing that it knows when a log has it as well', () => {
    const forSchema = jest.spyOn(avro.Type, 'forSchema');
    const another = createCodec();
    for (const schema of another.schemas()) another.addSchema(schema);
    expect(forSchema).not.toHaveBeenCalled();
    expect(another.schemas()).toEqual(codec.schemas());
    forSchema.mockRestore();
  });

  it('refuses a schema whose first fields are others: whose an event is would be read wrongly', () => {
    const { fields, ...rest } = newestOf('CancelRequested');
    const turned = JSON.stringify({ ...rest, fields: fields.toReversed() });
    expect(() => createCodec().addSchema({ type: 'CancelRequested', fingerprint: 'x', json: turned })).toThrow(
      UnknownSchemaError,
    );
  });

  it('refuses a schema that cannot be lifted to the newest', () => {
    const incompatible = { ...newestOf('CancelRequested'), fields: [{ name: 'why', type: 'string' }] };
    expect(() =>
      createCodec().addSchema({ type: 'CancelRequested', fingerprint: 'x', json: JSON.stringify(incompatible) }),
    ).toThrow(UnknownSchemaError);
  });
});

describe('schemas', () => {
  it('are BACKWARD_TRANSITIVE: the newest version of a type reads every older one', () => {
    const files = readSchemaFiles();
    for (const type of new Set(files.map((file) => file.type))) {
      const versions = files
        .filter((file) => file.type === type)
        .map((file) => avro.Type.forSchema(JSON.parse(file.json) as avro.Schema));
      const newest = versions.at(-1) as avro.Type;
      for (const writer of versions) expect(() => newest.createResolver(writer)).not.toThrow();
    }
  });

  it('lift what their first version wrote: what it did not know is as it was then', () => {
    const events = fc.sample(anyEvent, { seed: 3, numRuns: 300 });
    for (const event of events) {
      const { type, fingerprint, bytes } = firstWritten(event);
      const request = 'request' in event && event.request !== null ? { ...event.request, ...laterFields } : null;
      const role = 'role' in event ? { role: 'primary' } : {};
      const origin = type === 'NotificationRequested' ? { resendOf: null } : {};
      const expected = { ...event, ...role, ...origin, ...(request === null ? {} : { request }) };
      expect(plain(codec.decode(type, fingerprint, bytes))).toEqual(plain(expected));
    }
  });

  it('never change once they exist: a change is a new version', () => {
    const fingerprints = Object.fromEntries(
      readSchemaFiles().map(({ type, version, json }) => [
        `${type}.v${version}`,
        avro.Type.forSchema(JSON.parse(json) as avro.Schema)
          .fingerprint('md5')
          .toString('hex'),
      ]),
    );
    expect(fingerprints).toEqual(pinned);
  });
});

function newestOf(type: string): { fields: object[] } {
  const file = readSchemaFiles().findLast((one) => one.type === type);
  return JSON.parse(file?.json ?? '{}') as { fields: object[] };
}

const pinned = {
  'AttemptFailed.v1': '8c5067d41ff0b0936dd518061e56aff7',
  'AttemptFailed.v2': 'ffb8698c7c012388849772ef0b2e0d7a',
  'AttemptFailed.v3': '3ffe59ff984be8b64aae2e0d66991fc0',
  'AttemptFailed.v4': '3d2492674e9bd4ab88caf784bf490c08',
  'AttemptFailed.v5': '186b7bba9247b5561eee90fb5614195a',
  'AttemptStarted.v1': '70876a9791c0595158d53b7cb5f71e51',
  'AttemptSucceeded.v1': '13e1a40cc0f620f863473de55a122a9f',
  'AttemptSucceeded.v2': '4dc94bf5acc7035e754143d56ed573b5',
  'BatchAccepted.v1': 'd15218c4a30b3884c166a74e7ba44ad0',
  'CancelRequested.v1': '4b0a2cb5bc2b8f5c889d1e0919fb0897',
  'DeadLettered.v1': 'c150956a5275df31a15e8cd8664f9e43',
  'DeliveryDeferred.v1': '30b46f06f45bf76f61ca8b818acd60a6',
  'DeliveryDeferred.v2': '34868cdd5da93d819e21bb3111443af3',
  'DeliveryDeferred.v3': '7263b2b805f739f94c15a3587f853382',
  'DeliveryDeferred.v4': '8519f9c1752eca91e241f68c6c249ca3',
  'DeliveryDeferred.v5': '408528203fad9bde9bb9aa81fd0e3eb8',
  'DeliveryDue.v1': 'e539ac5893b9b47d1974380a710daa5a',
  'DeliveryDue.v2': 'fa7082d93983d9ebd1e9b2a9a04b8e3d',
  'DeliveryDue.v3': 'a13980aa8f4c58af5b5c69aac434ba23',
  'DeliveryDue.v4': 'bad9925d5199e75f21af4de24e398643',
  'DeliveryDue.v5': '255b7c861e84f4d9ceba7581a4b24f08',
  'InboxRead.v1': '6c2c4070b1631d8e3b17b787e1ad5697',
  'NotificationCancelled.v1': '32aabd7068c4b1b3c8ead56ece7e53d3',
  'NotificationRequested.v1': 'e1de3d28eac19699b4263f43bbd1be60',
  'NotificationRequested.v2': '1bc944512f338cbea906659dfb2bccb3',
  'NotificationRequested.v3': '08a60c71d60f3a0f92ff86454643b214',
  'NotificationRequested.v4': 'dd17052846071e8180c0d97ca5019e3a',
  'NotificationRequested.v5': 'f691ea706b4871e5cf6da215ffe19cd9',
  'NotificationRequested.v6': '4d67da914a2bde69c8f4317b321c5d3d',
  'NotificationsForgotten.v1': '07405c8d18d9ffe8910507edc8429759',
  'ProviderReported.v1': '90573c1f96ccdb2669f2614d4351f968',
  'RecipientErased.v1': '3fbf1f354f9a3de1fc4d0a818edf54c7',
  'RecipientReleased.v1': '221544d5ea70fb0b475c5d18058ebd0a',
  'RecipientSuppressed.v1': '84de987cf1df2cc1326652329a075bea',
  'RetryRequested.v1': 'a63f845eec1b4268b1fb0ad5e7d9e36d',
  'RetryRequested.v2': 'd22cce304804271b70ab4f83e34c404a',
  'RetryRequested.v3': '6721e08084095e0bd10d4f9f003fe6af',
  'RetryRequested.v4': '54221f8fe8ba33ff4f6f5931c2aa5b76',
  'RetryRequested.v5': 'ea3c70077cb559cf99920ff3a8673f2d',
  'SettingsChanged.v1': '20172877612462d553117b7ddddb4387',
  'TenantErased.v1': 'ce3ac1ce6cb0e5dc1730a7f045236968',
  'TenantForgotten.v1': 'cbad45cbc0f1cc6a6461e65d95a3630b',
};
