// Searches in read models that were folded, one after another, and says how long each kind took. A process of its own, with the settings of the service in its
// environment; on the store itself: what HTTP adds is told by the other parts.

import { createClock } from '../src/adapters/node/clock.ts';
import { createLogger } from '../src/adapters/node/logger.ts';
import { createMetrics } from '../src/adapters/node/metrics.ts';
import { createCodec } from '../src/codec/index.ts';
import type { TenantId } from '../src/domain/ids.ts';
import { readConfig } from '../src/main/config.ts';
import { openLogBesideViews } from '../src/main/engines.ts';
import type { NotificationFilter } from '../src/projections/notifications/filter.ts';
import { listNotifications } from '../src/projections/notifications/queries.ts';
import type { AskPlan, Asked } from './protocol.ts';
import { percentiles } from './protocol.ts';

process.once('message', (plan: AskPlan) => {
  void ask(plan).then((asked) => {
    process.send?.(asked);
    process.disconnect();
  });
});

const pageLimit = 20;
/** Not measured: statements are prepared and code is compiled. */
const warmingRounds = 10;

const clock = createClock();

async function ask({ tenantId, words, rounds }: AskPlan): Promise<Asked> {
  const { reader, close } = await openLogBesideViews({
    config: readConfig(),
    codec: createCodec(),
    clock,
    logger: createLogger({ level: 'warn' }),
    metrics: createMetrics({ processMetrics: false }),
    signal: new AbortController().signal,
  });
  const tookMs: number[] = [];
  for (let round = -warmingRounds; round < rounds; round++) {
    for (const filter of filtersOf(words[Math.abs(round) % words.length] ?? '')) {
      const startedAt = clock.monotonic();
      const { records } = await listNotifications(reader, tenantId as TenantId, filter, { limit: pageLimit });
      if (round >= 0) tookMs.push(clock.monotonic() - startedAt);
      if (records.length === 0) throw new Error(`nothing was found by ${JSON.stringify(filter)}`);
    }
  }
  await close();
  return { latencyMs: percentiles(tookMs) };
}

/** What everybody has, what a single one has, both together, and the beginning of a recipient with a fact of the record. */
function filtersOf(word: string): NotificationFilter[] {
  return [
    { words: ['order'] },
    { words: [word] },
    { words: ['order', 'shipped', word], metadata: { source: 'bench' } },
    { recipientPrefix: 'user-1', words: ['warehouse'] },
    { recipientPrefix: 'user-12@', channel: 'EMAIL' },
  ];
}
