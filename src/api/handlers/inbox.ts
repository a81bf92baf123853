// The in-app inbox of a tenant's recipient: list, mark as read, stream.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import { badField, unavailable } from '../../domain/errors.ts';
import type { NotificationId, TenantId } from '../../domain/ids.ts';
import { inboxItemIdOf, notificationIdOfInboxItem } from '../../domain/ids.ts';
import type { ApiKeys } from '../../ports/api-keys.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Position } from '../../ports/event-log.ts';
import type { InboxTokens } from '../../ports/inbox-tokens.ts';
import { inboxTokenSecondsMax } from '../../ports/inbox-tokens.ts';
import type { FieldValue, ReadModelReader } from '../../ports/read-model-store.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import type { InboxItem } from '../../projections/inbox/documents.ts';
import { inboxReadModel } from '../../projections/inbox/index.ts';
import { itemsByIds, listInbox, placeKeyOf, unreadIds, unreadIdsMax } from '../../projections/inbox/queries.ts';
import { pageBytesMax } from '../../projections/page-bytes.ts';
import type { Cursors } from '../cursor.ts';
import { endpoint } from '../endpoint.ts';
import type { OwnWrites } from '../own-writes.ts';
import { listText, pageText } from '../page.ts';
import { eventPositionHeader, positionText } from '../position.ts';
import { inboxRecipientProblem } from '../recipients.ts';
import { isoTime, isoTimeOrNull } from '../record.ts';
import { ok } from '../respond.ts';
import { isText } from '../text-check.ts';
import type { Waits } from '../waits.ts';
import { pageLimit } from './schemas.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'markInboxRead'>;
  readonly reader: ReadModelReader;
  readonly turns: ThreadTurns;
  readonly apiKeys: Pick<ApiKeys, 'hash'>;
  readonly inboxTokens: Pick<InboxTokens, 'make'>;
  readonly cursors: Cursors;
  readonly ownWrites: Pick<OwnWrites, 'followInbox'>;
  readonly waits: Pick<Waits, 'forPosition'>;
  readonly clock: Clock;
}

const listQuery = z.strictObject({
  limit: pageLimit(20),
  cursor: z.string().optional(),
  unread: z.enum(['true', 'false']).optional(),
});

const readBody = z.strictObject({
  ids: z
    .array(z.string().meta({ format: 'uuid' }), 'must be an array of ids')
    .min(1, 'must name at least one')
    .max(unreadIdsMax, `must name at most ${unreadIdsMax}`)
    .optional(),
});

const tokenBody = z.strictObject({
  expiresInSeconds: z
    .int('must be a whole number of seconds')
    .min(1, 'must be at least 1')
    .max(inboxTokenSecondsMax, `must be at most ${inboxTokenSecondsMax}`)
    .default(3600),
});

/** "All of them" reads so many chunks of unreadIdsMax in one call; what is left over is left unread. */
const chunksMax = 20;
const readWaitMs = 2000;

export function createInboxHandlers({ apiKeys, inboxTokens, ...deps }: Dependencies) {
  const { commands, reader, turns, cursors, ownWrites, waits, clock } = deps;
  const list = endpoint('inbox', {
    query: listQuery,
    follows: () => [inboxReadModel],
    answerBytesMax: pageBytesMax,
    awaits: ({ tenant }, { params }) => ownWrites.followInbox(tenant.id, recipientOf(params)),
    async handle({ tenant }, { params, query }) {
      const recipient = recipientOf(params);
      const unreadOnly = query.unread === 'true';
      const scope = { tenantId: tenant.id, list: `inbox:${unreadOnly ? 'unread' : 'all'}:${recipient}` };
      const after = query.cursor === undefined ? {} : { after: cursors.decode(query.cursor, scope) };
      const page = await listInbox(reader, tenant.id, recipient, { limit: query.limit, unreadOnly, ...after });
      const { unreadCount } = page;
      const text = await pageText(turns, page.items, toItem);
      const nextCursor = cursors.encode(text.cutAfter === null ? page.next : placeKeyOf(text.cutAfter), scope);
      return { status: 200, json: listText('notifications', text, { unreadCount, nextCursor }) };
    },
  });

  const read = endpoint('inbox', {
    body: readBody,
    bodyIsOptional: true,
    awaits: ({ tenant }, { params }) => ownWrites.followInbox(tenant.id, recipientOf(params)),
    async handle({ tenant }, { params, body }) {
      const recipient = recipientOf(params);
      const wanted = body.ids === undefined ? null : idsOf(body.ids);
      const marked = await markRead(tenant.id, recipient, wanted);
      if (marked.last === null) return ok({ success: true, updated: 0 });
      const last = { ...marked.last, tenantId: tenant.id };
      if (!(await waits.forPosition(inboxReadModel, last, readWaitMs, 'written'))) {
        throw unavailable('The items are being marked as read; the inbox does not show it yet.');
      }
      return {
        ...ok({ success: true, updated: marked.count }),
        headers: { [eventPositionHeader]: positionText(marked.last) },
      };
    },
  });

  const markRead = async (tenantId: TenantId, recipient: string, wanted: readonly NotificationId[] | null) => {
    let count = 0;
    let last: Position | null = null;
    for await (const notificationIds of wanted === null
      ? allUnread(tenantId, recipient)
      : stillUnread(tenantId, recipient, wanted)) {
      last = await commands.markInboxRead({ tenantId, recipient, notificationIds });
      count += notificationIds.length;
    }
    return { count, last };
  };

  async function* allUnread(tenantId: TenantId, recipient: string): AsyncGenerator<readonly NotificationId[], void> {
    let after: readonly FieldValue[] | undefined;
    for (let chunk = 0; chunk < chunksMax; chunk++) {
      const page = await unreadIds(reader, tenantId, recipient, after);
      if (page.ids.length > 0) yield page.ids;
      if (page.next === null) return;
      after = page.next;
    }
  }

  async function* stillUnread(
    tenantId: TenantId,
    recipient: string,
    wanted: readonly NotificationId[],
  ): AsyncGenerator<readonly NotificationId[], void> {
    const items = await itemsByIds(reader, tenantId, recipient, wanted);
    const unread = [...items.values()].filter((item) => item.readAt === null).map((item) => item.notificationId);
    if (unread.length > 0) yield unread;
  }

  const token = endpoint('apiKey', {
    body: tokenBody,
    bodyIsOptional: true,
    async handle({ tenant, apiKey }, { params, body: { expiresInSeconds } }) {
      const expiresAt = (Math.floor(clock.now() / 1000) + expiresInSeconds) * 1000;
      const pass = { tenantId: tenant.id, recipient: recipientOf(params), keyHash: apiKeys.hash(apiKey), expiresAt };
      return ok({ token: await inboxTokens.make(pass), expiresAt: isoTime(expiresAt) });
    },
  });

  return { list, read, token };
}

/** @throws DomainError BAD_REQUEST */
export function recipientOf({ userId = '' }: Readonly<Record<string, string>>): string {
  const problem = isText(userId) ? inboxRecipientProblem(userId) : 'must not hold NUL';
  if (problem !== null) throw badField('userId', problem);
  return userId;
}

export function toItem(item: InboxItem) {
  const { content } = item;
  return {
    id: inboxItemIdOf(item.notificationId),
    notificationId: item.notificationId,
    tenantId: item.tenantId,
    recipientId: item.recipient,
    title: content.title,
    body: content.body,
    read: item.readAt !== null,
    createdAt: isoTime(item.createdAt),
    readAt: isoTimeOrNull(item.readAt),
    data: JSON.parse(content.data) as unknown,
  };
}

function idsOf(ids: readonly string[]): NotificationId[] {
  const seen = new Set<NotificationId>();
  for (const [index, id] of ids.entries()) {
    const notificationId = notificationIdOfInboxItem(id);
    if (notificationId === null) throw badField(`ids.${index}`, 'must be the id of an item, a UUID in lower case');
    seen.add(notificationId);
  }
  return [...seen];
}
