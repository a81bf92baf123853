// Every route, who may call it and what answers: the review of who is let in is this page. POST /notify alone stands in notify.ts.

import type { Route } from './endpoint.ts';
import type { Handlers } from './handlers/index.ts';

/** Below /api/v1 and /v1. */
export function routesOf({
  notifications,
  inbox,
  tenant,
  providers,
  templates,
  dashboard,
  streams,
}: Handlers): readonly Route[] {
  return [
    // A tenant's backend
    { method: 'GET', path: '/notify/:id', auth: 'apiKey', endpoint: notifications.showByKey },
    { method: 'GET', path: '/notify/inapp/:userId', auth: 'apiKey', endpoint: inbox.list },
    { method: 'POST', path: '/notify/inapp/:userId/read', auth: 'apiKey', endpoint: inbox.read },
    { method: 'GET', path: '/notify/inapp/:userId/stream', auth: 'apiKey', endpoint: streams.inbox },
    // A person, with or without a tenant yet
    { method: 'POST', path: '/auth/provision-tenant', auth: 'token', endpoint: tenant.provision },
    // A tenant's people
    { method: 'POST', path: '/auth/regenerate-key', auth: 'bearer', endpoint: tenant.regenerateKey },
    { method: 'GET', path: '/tenant', auth: 'bearer', endpoint: tenant.show },
    { method: 'GET', path: '/providers', auth: 'bearer', endpoint: providers.list },
    { method: 'POST', path: '/providers', auth: 'bearer', endpoint: providers.save },
    // Before the paths with :channel: the first that fits decides.
    { method: 'GET', path: '/providers/catalog', auth: 'bearer', endpoint: providers.catalog },
    { method: 'POST', path: '/providers/:channel/test', auth: 'bearer', endpoint: providers.test },
    { method: 'DELETE', path: '/providers/:channel', auth: 'bearer', endpoint: providers.remove },
    { method: 'GET', path: '/templates', auth: 'bearer', endpoint: templates.list },
    { method: 'POST', path: '/templates', auth: 'bearer', endpoint: templates.create },
    { method: 'PUT', path: '/templates/:id', auth: 'bearer', endpoint: templates.update },
    { method: 'DELETE', path: '/templates/:id', auth: 'bearer', endpoint: templates.remove },
    { method: 'GET', path: '/notifications', auth: 'bearer', endpoint: notifications.list },
    { method: 'GET', path: '/notifications/:id', auth: 'bearer', endpoint: notifications.show },
    { method: 'GET', path: '/notifications/:id/attempts', auth: 'bearer', endpoint: notifications.attempts },
    { method: 'POST', path: '/notifications/:id/retry', auth: 'bearer', endpoint: notifications.retry },
    { method: 'POST', path: '/notifications/:id/cancel', auth: 'bearer', endpoint: notifications.cancel },
    { method: 'GET', path: '/dashboard/stats', auth: 'bearer', endpoint: dashboard.stats },
    { method: 'GET', path: '/dashboard/stream', auth: 'bearerOrQuery', endpoint: streams.dashboard },
  ];
}
