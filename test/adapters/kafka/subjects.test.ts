// Which topics an event type can go to, from the domain's own topicOf.

import { describe, expect, it } from '@jest/globals';

import { topicsOfType } from '../../../src/adapters/kafka/subjects.ts';
import { createCodec } from '../../../src/codec/index.ts';
import type { EventType } from '../../../src/domain/events.ts';
import { deliveriesTopic, topicOf, workTopics } from '../../../src/domain/topics.ts';
import { anyEvent } from '../../support/events.ts';
import fc from '../../support/properties.ts';

describe('the topics of an event type', () => {
  it('hold every topic that an event of the type is appended to', () => {
    fc.assert(fc.property(anyEvent, (event) => topicsOfType(event.type).includes(topicOf(event))));
  });

  it('are known for every type that has a schema', () => {
    for (const { type } of createCodec().newestSchemas())
      expect(topicsOfType(type as EventType).length).toBeGreaterThan(0);
  });

  it('are all work topics for work, and one for an outcome', () => {
    expect(new Set(topicsOfType('NotificationRequested'))).toEqual(new Set(workTopics));
    expect(topicsOfType('AttemptFailed')).toEqual([deliveriesTopic]);
  });
});
