// What the MongoDB read models send beside the queries, by folding, rebuilding, preparing and looking for changes: nothing of it scans a collection.

import { describe, expect, it } from '@jest/globals';

import { hasFoldedReadModels } from '../../../src/adapters/mongodb/read-models/folded.ts';
import { workTopic } from '../../../src/domain/topics.ts';
import type { ReadModelDefinition } from '../../../src/ports/read-model-store.ts';
import { projectedReadModels, readModels } from '../../../src/projections/index.ts';
import { runProjector } from '../../../src/projections/projector.ts';
import { rebuild } from '../../../src/projections/rebuild.ts';
import { appendAll, openEngines } from '../../projections/engines.ts';
import { requested } from '../../support/requested.ts';
import { until } from '../../support/until.ts';
import { silentLogger as logger } from '../sqlite/silent-logger.ts';
import { client, clock, expectCheap, openStore, sentBy } from './cheap-queries.ts';
import { recordCommands } from './recorded-commands.ts';

describe('MongoDB: what is sent beside the queries', () => {
  it('by projectors and by a rebuild finds everything by an index', async () => {
    const { db, store } = openStore();
    const { log, metrics, close } = await openEngines();
    await appendAll(
      log,
      Array.from({ length: 100 }, (_, i) => requested(i % 12, i)),
    );
    const sent = await sentBy(db, async () => {
      const deps = { log, store, clock, logger, metrics };
      const projectors = await Promise.all(
        projectedReadModels.map((readModel) => runProjector({ ...deps, readModel })),
      );
      await until(
        async () =>
          (await store.count({ collection: 'notifications_2', equals: { tenantId: 'tnt_a' } }, 200)).count === 100,
      );
      await Promise.all(projectors.map((projector) => projector.stop()));
      await rebuild({ log, store, readModels, onProgress: () => undefined });
      for (const { definition } of readModels) await store.abandon(definition);
    });
    await close();
    await expectCheap(db, sent);
    await store.close();
  }, 60_000);

  it('by a start with other indexes, and by those who look for changes, finds everything by an index', async () => {
    const { db, store } = openStore();
    const made: ReadModelDefinition = { name: 'notes', collections: [{ name: 'notes', fields: {}, indexes: [] }] };
    const grown = {
      name: 'notes',
      collections: [{ name: 'notes', fields: { at: 'number' }, indexes: [{ fields: ['at'] }] }],
    } as const;
    const sent = await sentBy(db, async () => {
      await store.prepare(made);
      const write = { collection: 'notes', id: '1', document: { at: 1 } };
      const owner = await store.transact(
        await store.own('notes', 0, { generation: 1 }),
        new Map([[workTopic('EMAIL', 'HIGH'), 1]]),
        [write],
      );
      await store.prepare(grown);
      await store.transact(owner, new Map(), [{ ...write, document: null }]);
      let calls = 0;
      store.onChange('notes', () => calls++);
      await until(() => calls > 0);
      expect(await hasFoldedReadModels({ db })).toBe(true);
      // The stream ends with its collection; then they look.
      const looks = recordCommands(client, db);
      await db.collection('read_model_positions').drop();
      await until(() => looks.queries().some(({ find }) => find === 'read_model_positions'), { what: 'a look' });
      looks.stop();
      await store.own('notes', 0, { generation: 1 });
    });
    await expectCheap(db, sent);
    await store.close();
  }, 60_000);
});
