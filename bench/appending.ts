// Appends the events of a batch to a log and does nothing else: what accepting the batch is compared with. A process of its own, with the settings of the service
// in its environment; says how long each round took.

import { createClock } from '../src/adapters/node/clock.ts';
import { createLogger } from '../src/adapters/node/logger.ts';
import { createMetrics } from '../src/adapters/node/metrics.ts';
import { createCodec } from '../src/codec/index.ts';
import { requested } from '../src/commands/accept-notification.ts';
import type { NotificationRequested } from '../src/domain/events.ts';
import type { TenantId } from '../src/domain/ids.ts';
import { batchIdOf, notificationIdOf, tenantIdOf } from '../src/domain/ids.ts';
import { noTrace } from '../src/domain/trace-context.ts';
import type { Partitioning } from '../src/domain/topics.ts';
import { readConfig } from '../src/main/config.ts';
import { openLogAndViews } from '../src/main/engines.ts';
import type { Appended, AppendPlan } from './protocol.ts';
import { monotonicMs } from './protocol.ts';

const clock = createClock();
const opening = openLogAndViews({
  config: readConfig(),
  codec: createCodec(),
  clock,
  logger: createLogger({ level: 'warn' }),
  metrics: createMetrics({ processMetrics: false }),
  signal: new AbortController().signal,
});
const tenantId: TenantId = tenantIdOf(clock.uuidV7());
/** Made once: that isn't measured. */
let events: readonly NotificationRequested[] | null = null;

process.on('message', (plan: AppendPlan) => {
  void append(plan).then((appended) => process.send?.(appended));
});

// Without its parent it has nothing to do.
process.on('disconnect', () => process.exit());

async function append({ items }: AppendPlan): Promise<Appended> {
  const { log } = await opening;
  events ??= eventsOf(items, log.partitioning);
  const startedAt = monotonicMs();
  const results = await Promise.all(events.map((event) => log.append(event)));
  const tookMs = monotonicMs() - startedAt;
  const lost = results.find(({ kind }) => kind !== 'durable');
  if (lost !== undefined) throw new Error(`the log took not all of it: ${JSON.stringify(lost)}`);
  return { tookMs };
}

/** As a batch of such items makes them. */
function eventsOf(items: number, partitioning: Partitioning): readonly NotificationRequested[] {
  const batchId = batchIdOf(clock.uuidV7());
  const requestedAt = clock.now();
  return Array.from({ length: items }, (_, i) => {
    const body = `Item ${i} is here`;
    const rendered = { subject: 'Hello', body, bodyFormat: 'text' } as const;
    const input = {
      tenantId,
      channel: 'IN_APP',
      recipient: `user-${i % 1000}`,
      priority: 'DEFAULT',
      template: null,
      subject: rendered.subject,
      body,
      data: null,
      dataText: '{}',
      metadata: {},
      strict: null,
      sendAt: null,
      expiry: null,
      replyTo: null,
      cc: [],
      bcc: [],
      transactional: false,
      resendOf: null,
      trace: noTrace,
    } as const;
    const notificationId = notificationIdOf(clock.uuidV7());
    return requested({ input, template: null, rendered }, { notificationId, requestedAt, batchId }, { partitioning });
  });
}
