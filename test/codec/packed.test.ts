// Events as one piece of memory, and back.

import { expect, it } from '@jest/globals';

import { createCodec } from '../../src/codec/index.ts';
import { datumsOf, packed, unpacked } from '../../src/codec/packed.ts';
import { topicOf } from '../../src/domain/topics.ts';
import { anyEvent } from '../support/events.ts';
import fc from '../support/properties.ts';
import { requested } from '../support/requested.ts';

const codec = createCodec();

it('comes back as what it was, whatever the events of one topic and type are', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { minLength: 1, maxLength: 30 }), ([first, ...rest]) => {
      if (first === undefined) return;
      const likeIt = rest.filter((event) => event.type === first.type && topicOf(event) === topicOf(first));
      const events = [first, ...likeIt];
      const pack = packed(codec, events);
      expect(unpacked(codec, pack)).toMatchObject(events);
      expect(pack.partitions).toEqual(events.map(({ partition }) => partition));
      expect(datumsOf(pack).map((bytes) => Buffer.from(bytes))).toEqual(
        codec.encodeAll(events).map(({ bytes }) => bytes),
      );
    }),
  );
});

it('has memory of its own, which can be transferred', () => {
  const { bytes } = packed(codec, [requested(0, 1), requested(1, 2)]);
  expect(bytes.byteLength).toBe(bytes.buffer.byteLength);
});

it('takes events of one topic alone, and one at least', () => {
  expect(() => packed(codec, [requested(0, 1), requested(0, 2, 'BULK')])).toThrow('alone are packed together');
  expect(() => packed(codec, [])).toThrow('no event');
});
