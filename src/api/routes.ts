// Every route, who may call it and what answers: the review of who is let in is this page. POST /notify alone stands in notify.ts.

import type { Route } from './endpoint.ts';
import type { Handlers } from './handlers/index.ts';

/** Below /api/v1 and /v1. */
export function routesOf({
  notifications,
  batches,
  jobs,
  inbox,
  tenant,
  keys,
  providers,
  templates,
  suppressions,
  recipients,
  callbacks,
  events,
  dashboard,
  streams,
}: Handlers) {
  return [
    // A tenant's backend. Before the path with :id: the first that fits decides.
    {
      method: 'POST',
      path: '/notify/batch',
      auth: 'apiKey',
      scopes: ['notify'],
      sends: true,
      endpoint: batches.create,
    },
    { method: 'GET', path: '/notify/batch/:id', auth: 'apiKey', scopes: ['notify', 'read'], endpoint: batches.show },
    // And its people.
    {
      method: 'POST',
      path: '/notify/batch/:id/cancel',
      auth: 'bearerOrKey',
      scopes: ['notify'],
      endpoint: jobs.cancelBatch,
    },
    {
      method: 'POST',
      path: '/notify/batch/:id/retry',
      auth: 'bearerOrKey',
      scopes: ['notify'],
      sends: true,
      endpoint: jobs.retryBatch,
    },
    { method: 'GET', path: '/jobs/:id', auth: 'bearerOrKey', scopes: ['notify', 'read'], endpoint: jobs.show },
    { method: 'DELETE', path: '/jobs/:id', auth: 'bearerOrKey', scopes: ['notify'], endpoint: jobs.stop },
    {
      method: 'GET',
      path: '/notify/:id',
      auth: 'apiKey',
      scopes: ['notify', 'read'],
      endpoint: notifications.showByKey,
    },
    { method: 'POST', path: '/notify/inapp/:userId/token', auth: 'apiKey', scopes: ['inbox'], endpoint: inbox.token },
    // Or the recipient's browser, by such a token.
    { method: 'GET', path: '/notify/inapp/:userId', auth: 'inbox', scopes: ['inbox'], endpoint: inbox.list },
    { method: 'POST', path: '/notify/inapp/:userId/read', auth: 'inbox', scopes: ['inbox'], endpoint: inbox.read },
    {
      method: 'GET',
      path: '/notify/inapp/:userId/stream',
      auth: 'inboxOrQuery',
      scopes: ['inbox'],
      live: true,
      endpoint: streams.inbox,
    },
    // A person, with or without a tenant yet
    { method: 'POST', path: '/auth/provision-tenant', auth: 'token', endpoint: tenant.provision },
    // A tenant's people
    { method: 'POST', path: '/auth/regenerate-key', auth: 'bearer', endpoint: tenant.regenerateKey },
    { method: 'GET', path: '/tenant', auth: 'bearer', endpoint: tenant.show },
    { method: 'GET', path: '/refusals', auth: 'bearer', endpoint: tenant.refusals },
    { method: 'GET', path: '/keys', auth: 'bearer', endpoint: keys.list },
    { method: 'POST', path: '/keys', auth: 'bearer', endpoint: keys.create },
    { method: 'DELETE', path: '/keys/:id', auth: 'bearer', endpoint: keys.remove },
    { method: 'GET', path: '/providers', auth: 'bearer', endpoint: providers.list },
    { method: 'POST', path: '/providers', auth: 'bearer', endpoint: providers.save },
    // Before the paths with :channel: the first that fits decides.
    { method: 'GET', path: '/providers/catalog', auth: 'bearer', endpoint: providers.catalog },
    { method: 'POST', path: '/providers/:channel/test', auth: 'bearer', sends: true, endpoint: providers.test },
    { method: 'DELETE', path: '/providers/:channel', auth: 'bearer', endpoint: providers.remove },
    { method: 'GET', path: '/templates', auth: 'bearerOrKey', scopes: ['read'], endpoint: templates.list },
    { method: 'POST', path: '/templates', auth: 'bearer', endpoint: templates.create },
    // Before the paths with :id: the first that fits decides.
    { method: 'POST', path: '/templates/preview', auth: 'bearer', endpoint: templates.previewText },
    { method: 'PUT', path: '/templates/:id', auth: 'bearer', endpoint: templates.update },
    { method: 'DELETE', path: '/templates/:id', auth: 'bearer', endpoint: templates.remove },
    {
      method: 'GET',
      path: '/templates/:id/versions',
      auth: 'bearerOrKey',
      scopes: ['read'],
      endpoint: templates.versions,
    },
    {
      method: 'GET',
      path: '/templates/:id/versions/:version',
      auth: 'bearerOrKey',
      scopes: ['read'],
      endpoint: templates.version,
    },
    { method: 'POST', path: '/templates/:id/preview', auth: 'bearer', endpoint: templates.preview },
    { method: 'GET', path: '/notifications', auth: 'bearerOrKey', scopes: ['read'], endpoint: notifications.list },
    { method: 'GET', path: '/notifications.csv', auth: 'bearerOrKey', scopes: ['read'], endpoint: notifications.csv },
    { method: 'GET', path: '/events', auth: 'bearerOrKey', scopes: ['read'], endpoint: events.list },
    // Before the paths with :id as well.
    { method: 'POST', path: '/notifications/retry', auth: 'bearer', sends: true, endpoint: jobs.retryMany },
    { method: 'GET', path: '/notifications/:id', auth: 'bearerOrKey', scopes: ['read'], endpoint: notifications.show },
    {
      method: 'GET',
      path: '/notifications/:id/attempts',
      auth: 'bearerOrKey',
      scopes: ['read'],
      endpoint: notifications.attempts,
    },
    { method: 'POST', path: '/notifications/:id/retry', auth: 'bearer', sends: true, endpoint: notifications.retry },
    { method: 'POST', path: '/notifications/:id/resend', auth: 'bearer', sends: true, endpoint: notifications.resend },
    { method: 'POST', path: '/notifications/:id/cancel', auth: 'bearer', endpoint: notifications.cancel },
    { method: 'GET', path: '/suppressions', auth: 'bearer', endpoint: suppressions.list },
    { method: 'POST', path: '/suppressions', auth: 'bearer', endpoint: suppressions.create },
    { method: 'DELETE', path: '/suppressions/:id', auth: 'bearer', endpoint: suppressions.remove },
    { method: 'DELETE', path: '/recipients/:channel/:recipient', auth: 'bearer', endpoint: recipients.erase },
    // Providers, by an address that names the tenant and by their signatures.
    { method: 'POST', path: '/callbacks/:provider/:token', auth: 'none', endpoint: callbacks.receive },
    { method: 'GET', path: '/dashboard/stats', auth: 'bearerOrKey', scopes: ['read'], endpoint: dashboard.stats },
    { method: 'GET', path: '/dashboard/failures', auth: 'bearerOrKey', scopes: ['read'], endpoint: dashboard.failures },
    { method: 'GET', path: '/dashboard/stream', auth: 'bearerOrQuery', live: true, endpoint: streams.dashboard },
  ] as const satisfies readonly Route[];
}

type Row = ReturnType<typeof routesOf>[number];

/** `GET /tenant`: each has its entry in docs/index.ts. */
export type RouteName = { [R in Row as `${R['method']} ${R['path']}`]: R } extends infer Named ? keyof Named : never;
