// The overview: how many are where, how it went over time, how long it took, what failed and why, what waits.

import { useEffect, useMemo, useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { channelName } from '../../format.ts';
import { route, setQuery } from '../../router.ts';
import { onChanges } from '../../stream.ts';
import { Field } from '../../ui/field.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Channel, Statistics } from '../../wire.ts';
import { channels } from '../../wire.ts';
import { Failures } from './failures.tsx';
import { Lanes } from './lanes.tsx';
import type { Counts } from './live-counts.ts';
import { createLiveCounts } from './live-counts.ts';
import type { Range } from './range.ts';
import { includesNow, namedRanges, rangeOf, statsQuery } from './range.ts';
import { Course } from './course.tsx';
import { Tiles } from './tiles.tsx';

/** While something changes the figures are read anew so often; between two answers the counts follow the stream. */
const readEveryMs = 5000;

export function OverviewPage() {
  const { query } = route.value;
  const range = useMemo(() => rangeOf(query), [query]);
  const channel = channels.find((each) => each === query.get('channel')) ?? null;
  const key = JSON.stringify([range, channel]);
  const { value, problem, reload } = useAnswer(
    (signal) =>
      call('get', '/dashboard/stats', {
        query: { ...statsQuery(range), ...(channel === null ? {} : { channel }) },
        signal,
      }),
    key,
  );
  const rounds = useRounds(reload);
  const counts = useLiveCounts(value, range, channel);
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
function useRounds(reload: () => void): number {
  const [rounds, setRounds] = useState(0);
  useEffect(() => {
    let isDue = false;
    const end = onChanges(() => void (isDue = true));
    const timer = setInterval(() => {
      if (!isDue || document.hidden) return;
      isDue = false;
      reload();
      setRounds((former) => former + 1);
    }, readEveryMs);
    return () => {
      end();
      clearInterval(timer);
    };
  }, [reload]);
  return rounds;
}

function useLiveCounts(statistics: Statistics | null, range: Range, channel: Channel | null): Counts | null {
  const [counts, setCounts] = useState<Counts | null>(null);
  const live = useMemo(createLiveCounts, [range, channel]);
  useEffect(() => setCounts(statistics?.statusCounts ?? null), [statistics]);
  useEffect(() => {
    if (!includesNow(range, Date.now())) return undefined;
    return onChanges((changes) => {
      const ours = channel === null ? changes : changes.filter((change) => change.channel === channel);
      setCounts((former) => (former === null ? null : live.after(former, ours)));
    });
  }, [live, range, channel]);
  return counts;
}

function RangeForm({ range, channel }: { readonly range: Range; readonly channel: Channel | null }) {
  const ofChannel: Record<string, string> = channel === null ? {} : { channel };
  const ofRange: Record<string, string> =
    range.kind === 'named' ? { range: range.name } : { from: range.from, to: range.to };
  return (
    <form class="range" onSubmit={(event) => event.preventDefault()}>
      <Field label="Range">
        {(id) => (
          <select
            id={id}
            value={range.kind === 'named' ? range.name : 'between'}
            onChange={({ currentTarget }) => setQuery({ ...ofChannel, range: currentTarget.value }, { replace: false })}
          >
            {range.kind === 'between' && <option value="between">As chosen</option>}
            {namedRanges.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Channel">
        {(id) => (
          <select
            id={id}
            value={channel ?? ''}
            onChange={({ currentTarget }) =>
              setQuery(
                { ...ofRange, ...(currentTarget.value === '' ? {} : { channel: currentTarget.value }) },
                { replace: false },
              )
            }
          >
            <option value="">All</option>
            {channels.map((each) => (
              <option key={each} value={each}>
                {channelName(each)}
              </option>
            ))}
          </select>
        )}
      </Field>
    </form>
  );
}
