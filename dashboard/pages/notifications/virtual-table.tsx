// The list: of all its rows those alone are in the document that can be seen. Rows that come in before the first one move nothing that is looked at.

import type { Signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { channelName, recipientName, sentenceCase, visible } from '../../format.ts';
import { linkTo } from '../../router.ts';
import { StatusMark, Time } from '../../ui/marks.tsx';
import type { Row, Rows } from './rows.ts';

/** Beyond both edges, so that a turn of the wheel finds them there. */
const beyond = 10;
/** Before the end comes into sight. */
const readAhead = 60;
/** As in pages.css: two lines on a phone. */
const rowHeights = { wide: 44, narrow: 72 };

interface Props {
  readonly rows: Rows;
  readonly chosen: Signal<ReadonlySet<string>>;
}

export function VirtualTable({ rows, chosen }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const rowHeight = useRowHeight();
  const [top, setTop] = useState(rows.scrolledTo);
  const all = rows.rows.value;
  useAnchor(box, rows, rowHeight);
  const height = box.current?.clientHeight ?? 800;
  const first = Math.max(0, Math.floor(top / rowHeight) - beyond);
  const end = Math.min(all.length, Math.ceil((top + height) / rowHeight) + beyond);
  const isLoading = rows.isLoading.value;
  const needsMore = end > all.length - readAhead && !isLoading && rows.hasMore() && rows.problem.value === null;
  useEffect(() => {
    if (needsMore) void rows.more();
  }, [needsMore, rows]);
  return (
    <div
      class="scroll list"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label="Notifications"
      aria-busy={isLoading}
      onScroll={({ currentTarget }) => {
        rows.scrolledTo = currentTarget.scrollTop;
        setTop(currentTarget.scrollTop);
      }}
    >
      <table role="table" aria-rowcount={rows.hasMore() ? -1 : all.length + 1}>
        <thead role="rowgroup">
          <tr role="row" aria-rowindex={1}>
            <th role="columnheader" scope="col">
              <ChooseAll all={all} chosen={chosen} />
            </th>
            {['Status', 'Recipient', 'About', 'Channel', 'Priority', 'Requested'].map((title) => (
              <th key={title} role="columnheader" scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          <Space height={first * rowHeight} />
          {all.slice(first, end).map((row, index) => (
            <OneRow key={row.id} row={row} place={first + index} chosen={chosen} />
          ))}
          <Space height={(all.length - end) * rowHeight} />
        </tbody>
      </table>
      {rows.hasMore() && <p class="loading">{isLoading ? 'Loading…' : ' '}</p>}
    </div>
  );
}

/** In place of rows that can't be seen. */
function Space({ height }: { readonly height: number }) {
  return <tr class="space" aria-hidden="true" role="presentation" style={{ height: `${height}px` }} />;
}

function OneRow({
  row,
  place,
  chosen,
}: {
  readonly row: Row;
  readonly place: number;
  readonly chosen: Props['chosen'];
}) {
  const { id, recipient, status, about, channel, priority, createdAt, lastError } = row;
  const isChosen = chosen.value.has(id);
  return (
    <tr role="row" aria-rowindex={place + 2} class={isChosen ? 'chosen' : undefined}>
      <td role="cell">
        <input
          type="checkbox"
          aria-label={`Choose ${recipientName(recipient)}`}
          checked={isChosen}
          onChange={() => {
            const next = new Set(chosen.value);
            if (!next.delete(id)) next.add(id);
            chosen.value = next;
          }}
        />
      </td>
      <td role="cell">
        <StatusMark status={status} />
      </td>
      <td role="cell">
        <a href={linkTo('notifications', id)}>
          <bdi>{recipientName(recipient)}</bdi>
        </a>
      </td>
      <td role="cell" title={lastError === null || status === 'DELIVERED' ? undefined : visible(lastError)}>
        <bdi>{visible(about)}</bdi>
      </td>
      <td role="cell">{channelName(channel)}</td>
      <td role="cell">{sentenceCase(priority)}</td>
      <td role="cell">
        <Time at={createdAt} form="list" />
      </td>
    </tr>
  );
}

function ChooseAll({ all, chosen }: { readonly all: readonly Row[]; readonly chosen: Props['chosen'] }) {
  const isAll = all.length > 0 && chosen.value.size >= all.length;
  return (
    <input
      type="checkbox"
      aria-label="Choose all that are loaded"
      checked={isAll}
      onChange={() => {
        chosen.value = isAll ? new Set() : new Set(all.map(({ id }) => id));
      }}
    />
  );
}

function useRowHeight(): number {
  const narrow = useRef(matchMedia('(max-width: 820px)'));
  const [isNarrow, setIsNarrow] = useState(narrow.current.matches);
  useEffect(() => {
    const { current: query } = narrow;
    const look = () => setIsNarrow(query.matches);
    query.addEventListener('change', look);
    return () => query.removeEventListener('change', look);
  }, []);
  return isNarrow ? rowHeights.narrow : rowHeights.wide;
}

/** What is looked at stays where it is, however many rows come in before it. At the top, where the newest are looked for, they are seen to come. */
function useAnchor(box: { readonly current: HTMLDivElement | null }, rows: Rows, rowHeight: number): void {
  const former = useRef<{ readonly rows: Rows; readonly first: string | undefined } | null>(null);
  const all = rows.rows.value;
  const first = all[0]?.id;
  useLayoutEffect(() => {
    const { current: element } = box;
    const before = former.current;
    former.current = { rows, first };
    if (element === null || (before !== null && before.first === first)) return;
    if (before?.rows !== rows) {
      element.scrollTop = rows.scrolledTo;
      return;
    }
    const come = all.findIndex(({ id }) => id === before.first);
    if (come > 0 && element.scrollTop >= rowHeight) element.scrollTop += come * rowHeight;
  });
}
