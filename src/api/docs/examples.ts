// One story for all examples of the document: a shop, its customer Ada, and what was sent to her.

import { inboxItemIdOf } from '../../domain/ids.ts';
import type { NotificationId } from '../../domain/ids.ts';

export const tenantId = 'tnt_01m598fs40f5r972krt9qm30cv';
export const templateId = 'tpl_01m6725bm0e7ptj735w8n0dtwt';
export const notificationId = 'notif_01mdnfhzm0fw3rybjxwgeqmh66' as NotificationId;
export const inboxToken = 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhdWQiOiJoZXJhbGQtaW5ib3gifQ.c2lnbmF0dXJl';
export const itemId = inboxItemIdOf(notificationId);
export const position = 'notifications.email.default:3:1027';
export const requestId = 'req_5c0e8a1b9d2f0000001z';
export const apiKey = 'nk_7Yh2Qe9RkV4mZs1XcB8nLw3TpF6uJd0GaE5vKq';
export const createdAt = '2027-01-31T09:00:00.000Z';
export const updatedAt = '2027-01-31T09:00:01.250Z';

export const attempt = {
  id: '6f1c2d3e-4a5b-8c6d-9e7f-0a1b2c3d4e5f',
  attemptNumber: 1,
  status: 'DELIVERED' as const,
  provider: 'resend',
  role: 'primary' as const,
  messageId: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794',
  error: null,
  errorCode: null,
  errorClass: null,
  attemptedAt: '2027-01-31T09:00:00.900Z',
  waitedMs: 12,
  tookMs: 350,
  nextRetryAt: null,
};

export const report = {
  id: '3c2b1a09-8f7e-8d6c-9b5a-4f3e2d1c0b9a',
  kind: 'delivered' as const,
  at: '2027-01-31T09:00:03.000Z',
  provider: 'resend',
  recipient: 'ada@example.com',
  permanent: false,
  reason: null,
};

export const failedAttempt = {
  ...attempt,
  messageId: null,
  id: '0d9c8b7a-6f5e-8d4c-8b3a-2f1e0d9c8b7a',
  status: 'FAILED' as const,
  error: 'The provider answered 503.',
  errorCode: '503',
  errorClass: 'provider' as const,
  nextRetryAt: '2027-01-31T09:00:05.400Z',
};

export const notification = {
  id: notificationId,
  channel: 'EMAIL' as const,
  recipient: 'ada@example.com',
  priority: 'DEFAULT' as const,
  status: 'DELIVERED' as const,
  template: { id: templateId, name: 'welcome', version: 2 },
  subject: 'Hello Ada',
  body: '<p>Welcome, Ada!</p>',
  rawSubject: null,
  rawBody: null,
  data: { name: 'Ada' },
  metadata: { order: '4711' },
  replyTo: null,
  cc: [],
  bcc: [],
  transactional: false,
  batchId: null,
  resendOf: null,
  provider: 'resend',
  attemptCount: 1,
  lastError: null,
  attempts: [attempt],
  createdAt,
  scheduledAt: null,
  expiresAt: null,
  updatedAt,
  deliveredAt: updatedAt,
  failedAt: null,
  nextRetryAt: null,
};

export const inboxItem = {
  id: itemId,
  notificationId,
  tenantId,
  recipientId: 'ada',
  title: 'Hello',
  body: 'Your order has left the house',
  read: false,
  createdAt,
  readAt: null,
  data: { order: 4711 },
};

export const template = {
  id: templateId,
  name: 'welcome',
  channel: 'EMAIL' as const,
  subject: 'Hello {{ name }}',
  body: '<p>Welcome, {{ name }}!</p>',
  strict: false,
  version: 1,
  createdAt,
  updatedAt: createdAt,
};

export const provider = {
  id: `${tenantId}:EMAIL`,
  tenantId,
  channel: 'EMAIL' as const,
  role: 'primary' as const,
  provider: 'resend',
  apiKey: 're_••••••x9Qz',
  config: { fromName: 'Acme', fromEmail: 'hello@acme.example' },
  callbackSecret: null,
  callbackUrl: 'https://notify.example.com/api/v1/callbacks/resend/dG50XzAxaHp4.3q2-7wAAAAAAAAAAAAAAAA',
  enabled: true,
  breaker: 'closed' as const,
  createdAt,
  updatedAt: createdAt,
};
