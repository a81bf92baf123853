import { beforeEach, describe, expect, it } from '@jest/globals';

import { createAnsweredBefore, mayBeAnswered } from '../../src/dispatchers/answered-before.ts';
import type { Answered, Asked } from '../../src/dispatchers/answered.ts';
import type { WorkEvent } from '../../src/domain/events.ts';
import { deliveriesTopic, workTopic } from '../../src/domain/topics.ts';
import type { LogEntry } from '../../src/ports/event-log.ts';
import { due, requested, retryRequested } from './work-events.ts';

const topic = workTopic('WEBHOOK', 'HIGH');
/** Where the topic and the outcomes ended when the number was taken. */
const end = 100;
const outcomesEnd = 7;

let asked: Asked[];
let isRestoring: boolean;
/** What the first laggard is to read next. */
let laggardAt: number;
let find: () => Promise<Answered>;

beforeEach(() => {
  asked = [];
  isRestoring = false;
  laggardAt = Infinity;
  find = () => Promise.resolve(answeredAll);
});

const answeredAll: Answered = { has: () => true, isAfter: () => false };

function reading() {
  return createAnsweredBefore({
    topic,
    partition: 3,
    tracker: { isRestoring: () => isRestoring, lagsBelow: (offset) => laggardAt < offset },
    endsNow: async (of) => (of.topic === topic ? end : of.topic === deliveriesTopic ? outcomesEnd : -1),
    findAnswered(of) {
      asked.push(of);
      return find();
    },
  });
}

function entry(event: WorkEvent, offset: number, lateMs = 5): LogEntry {
  const appendedAt = event.occurredAt + lateMs;
  return { topic, partition: 3, offset, appendedAt, size: 1, head: event, event, undecodable: null };
}

const request = requested();

it('may have been answered: all that was there, and of what comes whatever can be a repeat', () => {
  const said = (event: WorkEvent, offset: number, lateMs: number) => mayBeAnswered(entry(event, offset, lateMs), end);
  expect(said(request, end - 1, 5)).toBe(true);
  expect(said(request, end, 5)).toBe(false);
  expect(said(request, end, 300)).toBe(true);
  expect(said(due(request, 2, 1), end, 0)).toBe(true);
  expect(said(retryRequested(request, 2, 2), end, 0)).toBe(true);
});

describe('a topic of a number that was taken', () => {
  it('has nothing looked for while what comes is new to all', async () => {
    const answered = reading();
    expect((await answered.of([entry(request, end), entry(request, end + 1)])).has(entry(request, end))).toBe(false);
    expect(asked).toEqual([]);
  });

  it('looks once, from the first event that was read', async () => {
    const answered = reading();
    const [first, repeated] = [entry(request, end), entry(due(request, 2, 1), end + 1, 9)];
    await answered.of([first]);
    expect(await answered.of([repeated])).toBe(answeredAll);
    expect(await answered.of([entry(due(request, 3, 1), end + 2)])).toBe(answeredAll);
    expect(asked).toEqual([
      { partition: 3, since: first.appendedAt, first: repeated.appendedAt, outcomesEnd: outcomesEnd },
    ]);
  });

  it('looks among the latest outcomes whatever their age where somebody lagged before the restart', async () => {
    isRestoring = true;
    await reading().of([entry(request, end - 1)]);
    expect(asked).toEqual([{ partition: 3, since: 0, first: 0, outcomesEnd }]);
  });

  it('looks for what a tenant left in the log as for what was read on: it is as old', async () => {
    laggardAt = end - 2;
    const answered = reading();
    const old = entry(request, end, -9_000);
    await answered.of([old, entry(due(request, 2, 1), end + 1)]);
    expect(asked).toMatchObject([{ since: old.appendedAt, first: old.appendedAt }]);
  });

  it('keeps what it found until what a tenant left in the log from before is read as well', async () => {
    laggardAt = end - 2;
    const answered = reading();
    const left = entry(request, end - 2);
    await answered.of([left]);
    answered.noteReadPast();
    expect(await answered.of([left])).toBe(answeredAll);
    laggardAt = end;
    answered.forgetIfDone();
    expect(answered.isOver).toBe(true);
    expect((await answered.of([left])).has(left)).toBe(false);
    expect(asked).toHaveLength(1);
  });

  it('looks again where the log could not be read', async () => {
    const answered = reading();
    find = () => Promise.reject(new Error('away'));
    await expect(answered.of([entry(request, 1)])).rejects.toThrow('away');
    find = () => Promise.resolve(answeredAll);
    expect(await answered.of([entry(request, 1)])).toBe(answeredAll);
  });
});
