// What the overview is about: a range, by name or by two times (which dragging across the plot sets as well), and a channel.

import { channelName } from '../../format.ts';
import { setQuery } from '../../router.ts';
import { Field } from '../../ui/field.tsx';
import type { Channel } from '../../wire.ts';
import { channels } from '../../wire.ts';
import { inputTime, isoOfInput } from '../notifications/input-time.ts';
import type { Range } from './range.ts';
import { namedRanges, timesOf } from './range.ts';

const between = 'between';

export function RangeForm({ range, channel }: { readonly range: Range; readonly channel: Channel | null }) {
  const ofChannel: Record<string, string> = channel === null ? {} : { channel };
  const ofRange: Record<string, string> =
    range.kind === 'named' ? { range: range.name } : { from: range.from, to: range.to };
  return (
    <form class="range" onSubmit={(event) => event.preventDefault()}>
      <Field label="Range">
        {(id) => (
          <select
            id={id}
            value={range.kind === 'named' ? range.name : between}
            onChange={({ currentTarget: { value } }) =>
              setQuery(
                { ...ofChannel, ...(value === between ? betweenOf(range) : { range: value }) },
                { replace: false },
              )
            }
          >
            {namedRanges.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
            <option value={between}>From … until …</option>
          </select>
        )}
      </Field>
      {range.kind === 'between' &&
        (['from', 'to'] as const).map((end) => (
          <Field key={end} label={end === 'from' ? 'From' : 'Until'}>
            {(id) => (
              <input
                id={id}
                type="datetime-local"
                value={inputTime(range[end])}
                onChange={({ currentTarget }) => {
                  const time = isoOfInput(currentTarget.value);
                  const next = { from: range.from, to: range.to, [end]: time };
                  // Half a range is none: the field is left as it is.
                  if (time !== '' && next.from < next.to) setQuery({ ...ofChannel, ...next }, { replace: false });
                }}
              />
            )}
          </Field>
        ))}
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

/** Two times that say what the range says now. */
function betweenOf(range: Range): { from: string; to: string } {
  const now = Date.now();
  const { from, to = new Date(now).toISOString() } = timesOf(range, now);
  return { from, to };
}
