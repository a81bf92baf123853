// The log: filters that stand in the address, an endless list that stays where it is while others come in, many chosen and done with at once.

import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';

import { count } from '../../format.ts';
import { returns } from '../../reachable.ts';
import { route } from '../../router.ts';
import { onChanges } from '../../stream.ts';
import { BulkRetry } from '../../ui/bulk-retry.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { Download } from './download.tsx';
import { Filters } from './filters.tsx';
import type { FailedFilter } from './filter-of-address.ts';
import { failedFilterOf } from './filter-of-address.ts';
import { rowsOf } from './last-list.ts';
import type { Rows } from './rows.ts';
import { Selection } from './selection.tsx';
import { VirtualTable } from './virtual-table.tsx';

/** Newer ones are read so often at most. */
const newerEveryMs = 1000;

export function ListPage() {
  const { query } = route.value;
  const key = query.toString();
  const rows = useMemo(() => rowsOf(key), [key]);
  useFresh(rows);
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  /** As the address was when it was asked for. */
  const [retried, setRetried] = useState<FailedFilter | null>(null);
  useEffect(() => {
    chosen.value = new Set();
    setRetried(null);
  }, [rows]);
  const total = rows.total.value;
  const shown = rows.rows.value.length;
  const problem = rows.problem.value;
  return (
    <>
      <div class="head">
        <h1>Notifications</h1>
        <p class="note" aria-live="polite">
          {total === null ? ' ' : `${total.isExact ? '' : 'at least '}${count(total.count)} found`}
        </p>
      </div>
      <Filters />
      {problem !== null && <ProblemNote problem={problem} onRetry={() => void rows.more()} />}
      <div class="actions list-actions">
        <Selection rows={rows} chosen={chosen} />
        {query.get('status') === 'FAILED' && shown > 0 && (
          <button type="button" onClick={() => setRetried(failedFilterOf(query))}>
            Retry all that are found…
          </button>
        )}
        {shown > 0 && <Download key={key} query={query} />}
      </div>
      {shown === 0 && !rows.hasMore() && problem === null ? (
        <div class="card empty">
          <p>
            {key === '' ? (
              <>
                Nothing has been sent yet. <a href="#/send">Send a test</a>
              </>
            ) : (
              'Nothing fits these filters.'
            )}
          </p>
        </div>
      ) : (
        <VirtualTable rows={rows} chosen={chosen} />
      )}
      {retried !== null && <BulkRetry filter={retried} onClose={() => setRetried(null)} />}
    </>
  );
}

/** Read when it is shown, and again when something may have been missed; followed as it changes. */
function useFresh(rows: Rows): void {
  const returned = returns.value;
  useEffect(() => {
    void (rows.rows.peek().length === 0 ? rows.reload() : rows.newer());
  }, [rows, returned]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = onChanges((changes) => {
      if (!rows.change(changes) || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        void rows.newer();
      }, newerEveryMs);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [rows]);
}
