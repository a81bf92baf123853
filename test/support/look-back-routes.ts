// What a look-back says to each GET of the API, by its path in the OpenAPI document. Everything that isn't named here is answered as it was then.

import type { Asked } from './look-back.ts';

export type Told =
  /** As it is now, with x-settings-as-of: it isn't in the log. */
  | 'as now'
  /** 409. */
  | 'refused'
  /** With nothing in it. */
  | 'empty';

export const toldOtherwise: Readonly<Record<string, { readonly told: Told; readonly why: string }>> = {
  '/tenant': { told: 'as now', why: 'settings' },
  '/keys': { told: 'as now', why: 'settings' },
  '/providers': { told: 'as now', why: 'settings' },
  '/templates': { told: 'as now', why: 'settings' },
  '/templates/{id}/versions': { told: 'as now', why: 'settings' },
  '/templates/{id}/versions/{version}': { told: 'as now', why: 'settings' },
  '/jobs/{id}': { told: 'as now', why: 'jobs stand beside the log, and end a while after they are done' },
  '/refusals': { told: 'empty', why: 'they are in the memory of the process that refused' },
  '/dashboard/stream': { told: 'refused', why: 'nothing changes any more' },
  '/notify/inapp/{userId}/stream': { told: 'refused', why: 'nothing changes any more' },
  '/providers/catalog': { told: 'refused', why: 'it says what this version sends with, and a look-back sends nothing' },
};

/** The paths of an OpenAPI document that have a GET. */
export function getsOf(document: unknown): readonly string[] {
  const { paths } = document as { readonly paths: Readonly<Record<string, object>> };
  return Object.entries(paths).flatMap(([path, methods]) => ('get' in methods ? [path] : []));
}

/** Whether a call, its query included, is one of this path: `/notify/{id}` has `/notify/n1?x=1`. */
export function isOf(path: string, call: string): boolean {
  const pattern = path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/?]+');
  return new RegExp(`^${pattern}(?:\\?|$)`).test(call);
}

interface Known {
  readonly ids: readonly string[];
  readonly batches: readonly string[];
  readonly people: readonly string[];
}

/** Every GET that is answered as it was then, of whatever is known. */
export function askedAsThen({ ids, batches, people }: Known): readonly Asked[] {
  const newest = ids.slice(0, 10);
  const byToken = [
    '/notifications?limit=7',
    '/notifications?limit=100&page=1',
    ...['QUEUED', 'SCHEDULED', 'RETRYING', 'DELIVERED', 'FAILED', 'CANCELLED'].map(
      (status) => `/notifications?status=${status}`,
    ),
    '/notifications?channel=WEBHOOK&priority=HIGH',
    '/notifications?q=summer&limit=100',
    '/notifications?q=moment%20winter&status=DELIVERED&limit=100',
    '/notifications?recipientPrefix=gra&limit=100',
    '/notifications?recipient=ada',
    '/notifications?metadata.order=1&limit=100',
    '/notifications?errorClass=recipient',
    '/notifications?from=2020-01-01T00:00:00Z',
    '/notifications?limit=0',
    '/notifications/notif_00000000000000000000000000',
    '/notifications.csv',
    '/notifications.csv?status=DELIVERED&channel=WEBHOOK',
    '/events',
    '/events?limit=1000',
    '/events?limit=1000&type=AttemptFailed',
    '/events?limit=1000&from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z',
    ...['today', '24h', '7d', '30d', 'all'].map((range) => `/dashboard/stats?range=${range}`),
    '/dashboard/stats?range=24h&by=minute',
    '/dashboard/stats?range=24h&by=hour&channel=WEBHOOK',
    '/dashboard/stats?range=today&provider=inbox',
    '/dashboard/failures',
    '/dashboard/failures?by=hour&channel=WEBHOOK',
    '/suppressions',
    '/suppressions?limit=2',
    ...batches.map((id) => `/notifications?batchId=${id}`),
    ...ids.map((id) => `/notifications/${id}/attempts`),
    ...newest.map((id) => `/notifications/${id}`),
    ...newest.slice(0, 3).map((id) => `/events?notificationId=${id}`),
  ];
  const byKey = [
    ...people
      .map(encodeURIComponent)
      .flatMap((of) => [`/notify/inapp/${of}`, `/notify/inapp/${of}?limit=3`, `/notify/inapp/${of}?unread=true`]),
    '/notify/inapp/nobody',
    ...batches.map((id) => `/notify/batch/${id}`),
    ...newest.map((id) => `/notify/${id}`),
  ];
  return [
    ...byToken.map((path) => ({ path, by: 'token' }) as const),
    ...byKey.map((path) => ({ path, by: 'key' }) as const),
    { path: '/events?limit=999', by: 'token', accept: 'application/x-ndjson' },
  ];
}

interface KnownNow {
  readonly jobs: readonly string[];
  readonly templates: readonly string[];
}

/** What the settings say, which is shown as it is now. */
export function askedAsNow({ jobs, templates }: KnownNow): readonly Asked[] {
  const versions = templates.flatMap((id) => [`/templates/${id}/versions`, `/templates/${id}/versions/1`]);
  const paths = ['/tenant', '/keys', '/providers', '/templates', ...versions, ...jobs.map((id) => `/jobs/${id}`)];
  return paths.map((path) => ({ path, by: 'token' }));
}
