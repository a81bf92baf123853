// An installation whose inbox was folded by a version of before: its items' contents inside them, its position at the log's end.

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import type { ReadModelDefinition } from '../../src/ports/read-model-store.ts';
import { inboxReadModel } from '../../src/projections/inbox/index.ts';
import { listInbox } from '../../src/projections/inbox/queries.ts';
import { runProjector } from '../../src/projections/projector.ts';
import { until } from '../support/until.ts';
import type { Engines } from './engines.ts';
import { appendAll, openEngines } from './engines.ts';
import { lifeOf, tenants } from './histories.ts';

/** As it was declared until then. */
const former: ReadModelDefinition = {
  name: 'inbox',
  collections: [
    { name: 'inapp_notifications', fields: { tenantId: 'text' }, indexes: [{ fields: ['tenantId'] }] },
    { name: 'inboxes', fields: {}, indexes: [] },
  ],
};

let engines: Engines;
beforeEach(async () => {
  engines = await openEngines();
});
afterEach(() => engines.close());

it('is folded anew from the log by itself, and what was folded before stays for processes of before', async () => {
  const [tenantId] = tenants;
  if (tenantId === undefined) throw new Error('there are tenants');
  const life = lifeOf(
    {
      tenant: 0,
      channel: 'IN_APP',
      priority: 'HIGH',
      recipient: 0,
      template: false,
      requestedAfterMs: 0,
      isScheduled: false,
      isCancelled: false,
      steps: ['succeeded'],
      isRetriedByHand: false,
      isRead: false,
    },
    1,
  );
  const positions = await appendAll(engines.log, life);
  await engines.store.prepare(former);
  const stored = { tenantId, content: { body: 'of before' } };
  for (const { topic, partition, offset } of positions) {
    const owner = await engines.store.own('inbox', partition, { generation: 1 });
    const write = { collection: 'inapp_notifications', id: 'notif_1', document: stored };
    await engines.store.transact(owner, new Map([[topic, offset + 1]]), [write]);
  }
  const recipient = life[0]?.type === 'NotificationRequested' ? life[0].recipient : '';
  const projector = await runProjector({ ...engines, readModel: inboxReadModel });
  const page = await until(
    async () => {
      const found = await listInbox(engines.store, tenantId, recipient, { limit: 10 });
      return found.items.length === 1 ? found : null;
    },
    { what: 'the inbox to be folded' },
  );
  await projector.stop();
  expect(page).toMatchObject({ unreadCount: 1, items: [{ readAt: null }] });
  expect((await engines.store.get('inapp_notifications', ['notif_1'])).get('notif_1')).toEqual(stored);
});
