// Compiles when the types that openapi-typescript makes say of requests and answers what they are.

import type { components, operations, paths } from './client';

type Notify = paths['/notify']['post']['requestBody']['content']['application/json'];
export const request: Notify = {
  channel: 'IN_APP',
  recipient: 'ada',
  body: 'Hello {{ name }}',
  data: { name: 'Ada', order: { number: 17 } },
  metadata: { job: 'types' },
};

type Query = NonNullable<operations['listNotifications']['parameters']['query']>;
export const query: Query = { metadata: { job: 'types' }, status: 'FAILED' };

export const titleOf = (item: components['schemas']['InboxItem']): string | null => item.title;
export const idOf = (accepted: components['schemas']['Accepted']): string => accepted.notificationId;
