// By priority: how long it took, and what waits in each lane and since when.

import { call } from '../../api.ts';
import { count, sentenceCase } from '../../format.ts';
import { linkTo } from '../../router.ts';
import { Time } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Channel, Priority, Statistics } from '../../wire.ts';
import { priorities } from '../../wire.ts';
import type { Range } from './range.ts';
import { statsQuery } from './range.ts';
import { latency } from './tiles.tsx';

interface Props {
  readonly range: Range;
  readonly channel: Channel | null;
  readonly rounds: number;
}

interface Lane {
  readonly priority: Priority;
  readonly statistics: Statistics;
  /** What waits for its turn now, whenever it was requested. */
  readonly queued: number;
  /** ISO 8601; null: nothing waits, or so much that the oldest can't be asked for. */
  readonly oldest: string | null;
}

/** As far as pages of a list go. */
const pageMax = 10_000;

export function Lanes({ range, channel, rounds }: Props) {
  const ofChannel = channel === null ? {} : { channel };
  const { value, problem, reload } = useAnswer(
    (signal) => Promise.all(priorities.map((priority) => readLane(priority, range, ofChannel, signal))),
    JSON.stringify([range, channel]),
    rounds,
  );
  return (
    <section class="stack" aria-labelledby="lanes">
      <h2 id="lanes">By priority</h2>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      <div class="scroll" tabIndex={0} role="region" aria-label="By priority: the table">
        <table class="even">
          <thead>
            <tr>
              <th scope="col">Lane</th>
              {['Median', 'p95', 'p99', 'Delivered', 'Failed', 'Queued now'].map((title) => (
                <th key={title} scope="col" class="number">
                  {title}
                </th>
              ))}
              <th scope="col">The oldest, since</th>
            </tr>
          </thead>
          <tbody>
            {priorities.map((priority) => (
              <LaneRow
                key={priority}
                priority={priority}
                lane={value?.find((lane) => lane.priority === priority) ?? null}
              />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function LaneRow({ priority, lane }: { readonly priority: Priority; readonly lane: Lane | null }) {
  const cells =
    lane === null
      ? ['–', '–', '–', '–', '–']
      : [
          latency(lane.statistics.latency.p50),
          latency(lane.statistics.latency.p95),
          latency(lane.statistics.latency.p99),
          count(lane.statistics.statusCounts.DELIVERED),
          count(lane.statistics.statusCounts.FAILED),
        ];
  return (
    <tr>
      <th scope="row">{sentenceCase(priority)}</th>
      {cells.map((text, place) => (
        <td key={place} class="number">
          {text}
        </td>
      ))}
      <td class="number">
        {lane === null ? (
          '–'
        ) : (
          <a href={linkTo('notifications', null, { status: 'QUEUED', priority })}>{count(lane.queued)}</a>
        )}
      </td>
      <td>{lane?.oldest === null || lane === null ? '–' : <Time at={lane.oldest} form="relative" />}</td>
    </tr>
  );
}

async function readLane(
  priority: Priority,
  range: Range,
  ofChannel: { readonly channel?: Channel },
  signal: AbortSignal,
): Promise<Lane> {
  const query = { status: 'QUEUED', priority, limit: '1', ...ofChannel };
  const [statistics, newest] = await Promise.all([
    call('get', '/dashboard/stats', { query: { ...statsQuery(range), priority, ...ofChannel }, signal }),
    call('get', '/notifications', { query, signal }),
  ]);
  const { total, totalIsExact } = newest.pagination;
  if (total === 0 || !totalIsExact || total > pageMax) return { priority, statistics, queued: total, oldest: null };
  // The last page of one: the oldest. It may have had its turn meanwhile.
  const last = await call('get', '/notifications', { query: { ...query, page: String(total) }, signal });
  return { priority, statistics, queued: total, oldest: last.data[0]?.createdAt ?? null };
}
