// The in-app inbox, documented.

import { z } from 'zod';

import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { userParam } from './params.ts';
import { count, inboxItem, nextCursor, text, timestamp } from './shapes.ts';

const area = 'Inbox';
const params = { userId: userParam };

const list: OperationDocs = {
  id: 'listInbox',
  area,
  summary: 'A recipient’s notifications, newest first',
  description: 'Read and unread alike unless `unread=true`. A page ends at 1 MiB, one item at least.',
  params,
  answer: answers(
    z.object({
      notifications: z.array(inboxItem),
      unreadCount: count.describe('Of the whole inbox, not of this page.'),
      nextCursor,
    }),
    { notifications: [examples.inboxItem], unreadCount: 1, nextCursor: null },
    { description: 'A page of the inbox.' },
  ),
};

const read: OperationDocs = {
  id: 'markInboxRead',
  area,
  summary: 'Mark notifications as read',
  description:
    'Without a body all of them up to now, with `ids` those. What the recipient could see when it was asked becomes read; the answer comes once the inbox shows it, after 2 s at most, then 503.',
  params,
  requests: { Those: { ids: [examples.itemId] } },
  answer: answers(
    z.object({ success: z.literal(true), updated: count.describe('How many were unread.') }),
    { success: true, updated: 1 },
    { description: 'They are read. No position when nothing was unread.', position: 'sometimes' },
  ),
  refusals: {
    SERVICE_UNAVAILABLE: 'The items are being marked as read; the inbox does not show it yet.',
  },
};

const stream: OperationDocs = {
  id: 'streamInbox',
  area,
  summary: 'A recipient’s notifications as they come',
  description:
    'Server-sent events; a comment every 15 s. Without `Last-Event-ID` from now on, with it without gap or repeat: `connected` has an id too, so that nothing is missed when the stream is cut before its first item. Ends when the key or the token does: connect anew.',
  params,
  answer: {
    kind: 'stream',
    description: 'A stream of server-sent events: first that it is open, then what comes.',
    messages: [
      {
        event: 'connected',
        id: '41.-1',
        data: z.object({}).meta({ id: 'InboxConnected', description: 'Empty: what comes is told from now on.' }),
        example: {},
      },
      { event: 'notification', id: '42.-1', data: inboxItem, example: examples.inboxItem },
      {
        event: 'read',
        id: '42.7',
        data: z
          .object({ ids: z.array(z.uuid()), readAt: timestamp })
          .meta({ id: 'InboxRead', description: 'These items were read.' }),
        example: { ids: [examples.itemId], readAt: examples.updatedAt },
      },
    ],
  },
  refusals: { TOO_MANY_REQUESTS: 'A recipient has at most 20 open streams.' },
};

const token: OperationDocs = {
  id: 'makeInboxToken',
  area,
  summary: 'A token for the recipient’s browser',
  description:
    'It opens the list, the marks and the stream of this one recipient and nothing else, until `expiresAt` or until the API key that it was made with ends, within 5 s. A page of CORS_ORIGINS sends it in `Authorization`, EventSource in `?token=`. It has a limit of its own: 100 requests in 10 s.',
  params,
  requests: { 'For a quarter of an hour': { expiresInSeconds: 900 } },
  answer: answers(
    z
      .object({ token: text.describe('A JWT; its `exp` is the same time.'), expiresAt: timestamp })
      .meta({ id: 'InboxToken' }),
    { token: examples.inboxToken, expiresAt: examples.updatedAt },
    { description: 'The token. It is kept nowhere.' },
  ),
};

export const inboxDocs = { list, read, stream, token };
