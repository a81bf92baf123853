// A tenant's suppression list: recipients that nothing goes to.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import { badField } from '../../domain/errors.ts';
import { channels } from '../../domain/events.ts';
import type { Outbound } from '../../ports/outbound.ts';
import type { Suppression, SuppressionList } from '../../ports/suppressions.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import { pageBytesMax } from '../../projections/page-bytes.ts';
import { suppressionPage } from '../../projections/suppressions/page.ts';
import type { Cursors } from '../cursor.ts';
import { endpoint } from '../endpoint.ts';
import { listText, pageText } from '../page.ts';
import { recipientProblem } from '../recipients.ts';
import { isoTime } from '../record.ts';
import { ok } from '../respond.ts';
import { pageLimit } from './schemas.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'suppressRecipient' | 'releaseRecipient'>;
  readonly suppressions: SuppressionList;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly cursors: Cursors;
  readonly turns: ThreadTurns;
}

const listQuery = z.strictObject({ limit: pageLimit(20), cursor: z.string().optional() });

const createBody = z.strictObject({
  channel: z.enum(channels),
  recipient: z.string().describe('As in `POST /notify`.'),
});

export function createSuppressionHandlers({ commands, suppressions, outbound, cursors, turns }: Dependencies) {
  const list = endpoint('bearer', {
    query: listQuery,
    answerBytesMax: pageBytesMax,
    async handle({ tenant }, { query: { limit, cursor } }) {
      const scope = { tenantId: tenant.id, list: 'suppressions' };
      const [createdAt, id] = cursor === undefined ? [] : cursors.decode(cursor, scope);
      const behind = cursor === undefined ? null : { createdAt: Number(createdAt), id: String(id) };
      const entries = turns.piece(() => suppressions.of(tenant.id));
      const page = await suppressionPage(turns, entries, { behind, max: limit + 1 });
      const text = await pageText(turns, page.slice(0, limit), shown);
      const last = text.cutAfter ?? (page.length > limit ? (page[limit - 1] ?? null) : null);
      const nextCursor = last === null ? null : cursors.encode([last.createdAt, last.id], scope);
      return { status: 200, json: listText('data', text, { nextCursor }) };
    },
  });

  const create = endpoint('bearer', {
    body: createBody,
    async handle({ tenant, person }, { body: { channel, recipient } }) {
      const problem = recipientProblem(channel, recipient, outbound);
      if (problem !== null) throw badField('recipient', problem);
      const by = { tenantId: tenant.id, actor: person.actor };
      const { entry, isNew } = await commands.suppressRecipient({ ...by, channel, recipient, reason: 'manual' });
      return { status: isNew ? 201 : 200, body: shown(entry) };
    },
  });

  const remove = endpoint('bearer', {
    async handle({ tenant, person }, { params: { id = '' } }) {
      await commands.releaseRecipient({ tenantId: tenant.id, actor: person.actor, id });
      return ok({
        message: 'The recipient is off the suppression list: it is sent to again, by every process within a second.',
      });
    },
  });

  return { list, create, remove };
}

function shown({ id, channel, recipient, reason, createdAt }: Suppression) {
  return { id, channel, recipient, reason, createdAt: isoTime(createdAt) };
}
