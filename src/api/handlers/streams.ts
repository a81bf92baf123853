// The two live streams: of a recipient's inbox, and of the dashboard.

import type { TenantDirectory } from '../../ports/tenant-directory.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DashboardStreams } from '../dashboard-stream.ts';
import { endpoint } from '../endpoint.ts';
import type { InboxStreams } from '../inbox-stream.ts';
import { parseMarks } from '../inbox-stream.ts';
import { recipientOf } from './inbox.ts';

interface Dependencies {
  readonly inboxStreams: InboxStreams;
  readonly dashboardStreams: DashboardStreams;
  readonly directory: TenantDirectory;
  readonly clock: Pick<Clock, 'now'>;
}

export function createStreamHandlers({ inboxStreams, dashboardStreams, directory, clock }: Dependencies) {
  const inbox = endpoint('apiKey', {
    async handle({ tenant, apiKey }, { params, headers }) {
      const address = { tenantId: tenant.id, recipient: recipientOf(params) };
      const lastEventId = headers['last-event-id'];
      // Read before the answer begins: what is delivered after the client sees it open is never before the marks.
      const marks =
        typeof lastEventId === 'string' && lastEventId !== ''
          ? parseMarks(lastEventId)
          : await inboxStreams.marksOf(address);
      return {
        stream: {
          tenantId: tenant.id,
          open: (stream) => inboxStreams.add(address, stream, marks),
          isAllowed: async () => (await directory.tenantByApiKey(apiKey)) !== null,
        },
      };
    },
  });

  const dashboard = endpoint('bearerOrQuery', {
    async handle({ tenant, person }) {
      return {
        stream: {
          tenantId: tenant.id,
          open: (stream) => dashboardStreams.add(tenant.id, stream),
          isAllowed: async () => person.expiresAt === null || clock.now() < person.expiresAt,
        },
      };
    },
  });

  return { inbox, dashboard };
}
