// How many are in which status, live; each leads to them.

import { count, duration, sentenceCase } from '../../format.ts';
import { linkTo } from '../../router.ts';
import type { Channel, Statistics } from '../../wire.ts';
import { statuses } from '../../wire.ts';
import type { Counts } from './live-counts.ts';
import type { Range } from './range.ts';
import { timesOf } from './range.ts';

interface Props {
  readonly statistics: Statistics | null;
  readonly counts: Counts | null;
  readonly range: Range;
  readonly channel: Channel | null;
}

export function Tiles({ statistics, counts, range, channel }: Props) {
  const times = range.kind === 'named' && range.name === 'all' ? {} : timesOf(range, Date.now());
  const filters = { ...times, ...(channel === null ? {} : { channel }) };
  const total = counts === null ? null : statuses.reduce((sum, status) => sum + counts[status], 0);
  return (
    <ul class="tiles" aria-label="Notifications by status">
      <li class="tile">
        <span class="label">Requested</span>
        <Figure text={total === null ? '–' : count(total)} />
        <span class="note">{statistics === null ? '\u00a0' : `${statistics.successRate} % succeeded`}</span>
      </li>
      {statuses.map((status) => (
        <li key={status} class={`tile ${status.toLowerCase()}`}>
          <a class="label" href={linkTo('notifications', null, { ...filters, status })}>
            {sentenceCase(status)}
          </a>
          <Figure text={counts === null ? '–' : count(counts[status])} />
        </li>
      ))}
      <li class="tile wide">
        <span class="label">From request to delivery</span>
        <b>{statistics?.latency.p50 === null || statistics === null ? '–' : duration(statistics.latency.p50)}</b>
        <span class="note">
          {statistics === null
            ? '\u00a0'
            : `median; p95 ${latency(statistics.latency.p95)}, p99 ${latency(statistics.latency.p99)}`}
        </span>
      </li>
    </ul>
  );
}

/** On one line of one height, however many digits: a tile is 74 px wide inside, which are five large ones. */
function Figure({ text }: { readonly text: string }) {
  return <b class={text.length > 8 ? 'longer' : text.length > 5 ? 'long' : ''}>{text}</b>;
}

export function latency(ms: number | null): string {
  return ms === null ? '–' : duration(ms);
}
