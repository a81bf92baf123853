// The handlers by what they are about.

import type { CommandDependencies, Commands } from '../../commands/index.ts';
import type { CallbackAddresses } from '../../ports/callback-addresses.ts';
import type { ItemMaker } from '../../ports/item-maker.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { InboxTokens } from '../../ports/inbox-tokens.ts';
import type { Outbound } from '../../ports/outbound.ts';
import type { ProviderCatalog, ProviderRegistry } from '../../ports/provider-registry.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import type { RateLimit } from '../../domain/tenant.ts';
import type { Cursors } from '../cursor.ts';
import type { OwnWrites } from '../own-writes.ts';
import type { Refusals } from '../refusals.ts';
import type { RequestLimits } from '../rate-limit.ts';
import type { Waits } from '../waits.ts';
import { createDashboardStreams } from '../dashboard-stream.ts';
import { createInboxStreams } from '../inbox-stream.ts';
import { createBatchHandlers } from './batches.ts';
import { createCallbackHandlers } from './callbacks.ts';
import { createDashboardHandlers } from './dashboard.ts';
import { createEventHandlers } from './events.ts';
import { createInboxHandlers } from './inbox.ts';
import { createJobHandlers } from './jobs.ts';
import { createKeyHandlers } from './keys.ts';
import { createNotificationCsvHandlers } from './notification-csv.ts';
import { createNotificationHandlers } from './notifications.ts';
import { createProviderHandlers } from './providers.ts';
import { createRecipientHandlers } from './recipients.ts';
import { createStreamHandlers } from './streams.ts';
import { createSuppressionHandlers } from './suppressions.ts';
import { createTemplateHandlers } from './templates.ts';
import { createTenantHandlers } from './tenant.ts';

export interface HandlerDependencies extends CommandDependencies {
  readonly commands: Commands;
  readonly ownWrites: OwnWrites;
  readonly waits: Waits;
  readonly reader: ReadModelReader;
  readonly registry: ProviderRegistry & ProviderCatalog;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly callbackAddresses: CallbackAddresses;
  readonly inboxTokens: InboxTokens;
  readonly cursors: Cursors;
  readonly turns: ThreadTurns;
  readonly itemMaker?: ItemMaker | null;
  readonly rateLimit: RateLimit;
  /** UTC ms at which what is asked for up to now ends. */
  readonly rangesEnd: () => number;
  readonly limits: Pick<RequestLimits, 'items'>;
  readonly metrics: Metrics;
  readonly refusals: Pick<Refusals, 'of'>;
  readonly closing: AbortSignal;
}

export type Handlers = ReturnType<typeof createHandlers>;

export function createHandlers(deps: HandlerDependencies) {
  return {
    notifications: { ...createNotificationHandlers(deps), ...createNotificationCsvHandlers(deps) },
    events: createEventHandlers(deps),
    batches: createBatchHandlers(deps),
    jobs: createJobHandlers(deps),
    inbox: createInboxHandlers(deps),
    tenant: createTenantHandlers(deps),
    keys: createKeyHandlers(deps),
    providers: createProviderHandlers(deps),
    templates: createTemplateHandlers(deps),
    suppressions: createSuppressionHandlers(deps),
    recipients: createRecipientHandlers(deps),
    callbacks: createCallbackHandlers(deps),
    dashboard: createDashboardHandlers(deps),
    streams: createStreamHandlers({
      ...deps,
      inboxStreams: createInboxStreams(deps),
      dashboardStreams: createDashboardStreams(deps),
    }),
  };
}
