// Fetch sessions: what the broker believes after each request is what the consumer wants.

import { describe, expect, it } from '@jest/globals';

import { createFetchSession, keyOf } from '../../../src/adapters/kafka/fetch-session.ts';
import { createFetchSources } from '../../../src/adapters/kafka/fetch-sources.ts';
import type { FetchAnswer, FetchPartition } from '../../../src/adapters/kafka/fetch-wire.ts';
import fc from '../../support/properties.ts';

const anyWanted = fc.uniqueArray(
  fc.record({ topic: fc.constantFrom('a', 'b'), partition: fc.nat(4), offset: fc.nat(3) }),
  { selector: keyOf, maxLength: 6 },
);
const anyRound = fc.record({ wanted: anyWanted, fate: fc.constantFrom('answered', 'forgotten', 'refused', 'lost') });

/** What a broker does with a session (KIP-227), without the records. */
function startBroker() {
  const sessions = new Map<number, { epoch: number; offsets: Map<string, number> }>();
  let ids = 0;
  return {
    sessions,
    answer(request: ReturnType<ReturnType<typeof createFetchSession>['request']>, makesSessions: boolean) {
      const { sessionId, sessionEpoch, partitions, forgotten } = request;
      const session = sessions.get(sessionId);
      if (sessionId !== 0 && session === undefined) return answerOf(70, 0);
      if (session !== undefined && session.epoch !== sessionEpoch) return answerOf(71, sessionId);
      const offsets = session?.offsets ?? new Map<string, number>();
      for (const partition of partitions) offsets.set(keyOf(partition), partition.offset);
      for (const place of forgotten) offsets.delete(keyOf(place));
      const id = sessionId === 0 && makesSessions ? ++ids : sessionId;
      if (id !== 0) sessions.set(id, { epoch: sessionEpoch + 1, offsets });
      return { ...answerOf(0, id), offsets };
    },
  };
}

function answerOf(errorCode: number, sessionId: number): FetchAnswer {
  return { clientSideThrottleTime: 0, errorCode, sessionId, partitions: [] };
}

function byKey(wanted: readonly FetchPartition[]): ReadonlyMap<string, FetchPartition> {
  return new Map(wanted.map((partition) => [keyOf(partition), partition]));
}

describe('a fetch session', () => {
  it('has the broker fetch exactly what is wanted, whatever gets lost', () => {
    fc.assert(
      fc.property(fc.array(anyRound), (rounds) => {
        const session = createFetchSession();
        const broker = startBroker();
        for (const { wanted, fate } of rounds) {
          if (fate === 'forgotten') broker.sessions.clear();
          const request = session.request(byKey(wanted));
          const answer = broker.answer(request, fate !== 'refused');
          if (fate === 'lost') session.reset();
          else if (session.noteAnswer(answer)) {
            const offsets = 'offsets' in answer ? answer.offsets : new Map<string, number>();
            expect(new Map(offsets)).toEqual(new Map(wanted.map((partition) => [keyOf(partition), partition.offset])));
          } else {
            expect(session.request(byKey(wanted)).partitions).toEqual(wanted);
            session.reset();
          }
        }
      }),
    );
  });

  it('names only what has changed once the broker knows the rest', () => {
    const session = createFetchSession();
    const wanted = Array.from({ length: 156 }, (_, n) => ({ topic: `t${n % 13}`, partition: n % 12, offset: 5 }));
    session.request(byKey(wanted));
    session.noteAnswer(answerOf(0, 7));
    expect(session.request(byKey(wanted))).toEqual({ sessionId: 7, sessionEpoch: 1, partitions: [], forgotten: [] });
    session.noteAnswer(answerOf(0, 7));
    const moved = wanted.map((partition, n) => (n === 3 ? { ...partition, offset: 6 } : partition)).slice(0, -1);
    const request = session.request(byKey(moved));
    expect(request).toMatchObject({ sessionEpoch: 2, partitions: [moved[3]], forgotten: [wanted.at(-1)] });
  });

  it('notices that a source has moved on, though it is the same object', () => {
    const session = createFetchSession();
    const source = { topic: 'a', partition: 1, offset: 5, wants: true, deliver() {}, fail() {} };
    const sources = createFetchSources({ leaderOf: () => 3 }, { leftMs: () => 0 });
    sources.add([source]);
    session.request(sources.of(3).wanted);
    session.noteAnswer(answerOf(0, 7));
    source.offset = 9;
    expect(session.request(sources.of(3).wanted).partitions).toMatchObject([{ topic: 'a', partition: 1, offset: 9 }]);
  });
});
