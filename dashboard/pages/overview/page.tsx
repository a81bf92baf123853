// The overview: how many are where, how it went over time, how long it took, what failed and why, what waits.

import { useEffect, useMemo, useState } from 'preact/hooks';

import { callWhole } from '../../api.ts';
import { route } from '../../router.ts';
import { onChanges } from '../../stream.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Channel, Statistics } from '../../wire.ts';
import { channels } from '../../wire.ts';
import { Failures } from './failures.tsx';
import { Lanes } from './lanes.tsx';
import type { Counts } from './live-counts.ts';
import { createLiveCounts } from './live-counts.ts';
import type { Range } from './range.ts';
import { includesNow, rangeOf, statsQuery } from './range.ts';
import { RangeForm } from './range-form.tsx';
import { Course } from './course.tsx';
import { Tiles } from './tiles.tsx';

/** While something changes the figures are read anew so often; between two answers the counts follow the stream. */
const readEveryMs = 5000;
/** How far an answer knows the stream. */
const positionHeader = 'x-stream-position';

export function OverviewPage() {
  const { query } = route.value;
  const range = useMemo(() => rangeOf(query), [query]);
  const channel = channels.find((each) => each === query.get('channel')) ?? null;
  const key = JSON.stringify([range, channel]);
  const rounds = useRounds();
  const {
    value: answer,
    problem,
    reload,
  } = useAnswer(
    (signal) =>
      callWhole('get', '/dashboard/stats', {
        query: { ...statsQuery(range), ...(channel === null ? {} : { channel }) },
        signal,
      }),
    key,
    rounds,
  );
  const value = answer?.body ?? null;
  const counts = useLiveCounts(answer, range, channel);
  return (
    <>
      <div class="head">
        <h1>Overview</h1>
        <RangeForm range={range} channel={channel} />
      </div>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      <Tiles statistics={value} counts={counts} range={range} channel={channel} />
      <Course statistics={value} range={range} />
      <Lanes range={range} channel={channel} rounds={rounds} />
      <Failures range={range} channel={channel} rounds={rounds} />
    </>
  );
}

/** Counts up, 5 s apart, while something changes; each time the figures are read anew. */
function useRounds(): number {
  const [rounds, setRounds] = useState(0);
  useEffect(() => {
    let isDue = false;
    const end = onChanges(() => void (isDue = true));
    const timer = setInterval(() => {
      if (!isDue || document.hidden) return;
      isDue = false;
      setRounds((former) => former + 1);
    }, readEveryMs);
    return () => {
      end();
      clearInterval(timer);
    };
  }, []);
  return rounds;
}

function useLiveCounts(
  answer: { readonly body: Statistics; readonly headers: Headers } | null,
  range: Range,
  channel: Channel | null,
): Counts | null {
  const [counts, setCounts] = useState<Counts | null>(null);
  const live = useMemo(createLiveCounts, [range, channel]);
  useEffect(() => {
    setCounts(answer === null ? null : live.answered(answer.body.statusCounts, answer.headers.get(positionHeader)));
  }, [answer, live]);
  useEffect(() => {
    if (!includesNow(range, Date.now())) return undefined;
    return onChanges((changes) => {
      const ours = channel === null ? changes : changes.filter((change) => change.channel === channel);
      setCounts(live.changed(ours));
    });
  }, [live, range, channel]);
  return counts;
}
