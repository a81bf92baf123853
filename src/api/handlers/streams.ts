// The two live streams: of a recipient's inbox, and of the dashboard.

import type { IncomingHttpHeaders } from 'node:http';

import type { Clock } from '../../ports/clock.ts';
import type { Person } from '../authenticate.ts';
import { clockToleranceMs } from '../authenticate.ts';
import type { DashboardStreams } from '../dashboard-stream.ts';
import { endpoint } from '../endpoint.ts';
import type { InboxStreams } from '../inbox-stream.ts';
import { parseMarks } from '../inbox-news.ts';
import { recipientOf } from './inbox.ts';

interface Dependencies {
  readonly inboxStreams: InboxStreams;
  readonly dashboardStreams: DashboardStreams;
  readonly clock: Pick<Clock, 'now'>;
}

export function createStreamHandlers({ inboxStreams, dashboardStreams, clock }: Dependencies) {
  const inbox = endpoint('inboxOrQuery', {
    async handle({ tenant, endsAt, stillHolds }, { params, headers }) {
      const address = { tenantId: tenant.id, recipient: recipientOf(params) };
      const lastEventId = lastEventIdOf(headers);
      // Read before the answer begins: what is delivered after the client sees it open is never before the marks.
      const marks = await inboxStreams.beginning(address, lastEventId === null ? null : parseMarks(lastEventId));
      return {
        stream: {
          ...address,
          open: (stream) => inboxStreams.add(address, stream, marks),
          isAllowed: stillHolds,
          endsAt,
        },
      };
    },
  });

  const dashboard = endpoint('bearerOrQuery', {
    async handle({ tenant, person }, { headers }) {
      const beginning = await dashboardStreams.beginning(tenant.id, lastEventIdOf(headers));
      const endsAt = endOf(person, clock.now());
      return {
        stream: {
          tenantId: tenant.id,
          open: (stream) => dashboardStreams.add(tenant.id, stream, beginning),
          isAllowed: async () => endsAt === null || clock.now() < endsAt,
          endsAt,
        },
      };
    },
  });

  return { inbox, dashboard };
}

/** What the reader of a stream has seen last; null when it begins. */
function lastEventIdOf({ 'last-event-id': id }: IncomingHttpHeaders): string | null {
  return typeof id === 'string' && id !== '' ? id : null;
}

/** A stream ends with its token; one that was opened on the skew that clocks are granted, with that. */
function endOf({ expiresAt }: Person, now: number): number {
  const end = expiresAt - clockToleranceMs;
  return now < end ? end : expiresAt;
}
