// Searching: the terms of a notification, and how a version of before is left behind.

import { describe, expect, it } from '@jest/globals';

import type { TenantId } from '../../src/domain/ids.ts';
import type { NotificationFilter } from '../../src/projections/notifications/filter.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { listNotifications } from '../../src/projections/notifications/queries.ts';
import { runProjector } from '../../src/projections/projector.ts';
import { searchReadModel } from '../../src/projections/search/index.ts';
import { termKeysOf, termsOf, wordsOf, wordsPerNotificationMax } from '../../src/projections/search/terms.ts';
import { visibleText } from '../../src/projections/search/visible-text.ts';
import { createTurns } from '../../src/projections/turns.ts';
import { requested, searchContract } from '../contracts/search.ts';
import fc from '../support/properties.ts';
import { until } from '../support/until.ts';
import { appendAll, openEngines } from './engines.ts';
import { tenants } from './histories.ts';

const [tenant, otherTenant] = tenants as [TenantId, TenantId];

searchContract('SQLite', openEngines);

describe('the terms of a notification', () => {
  it('are of its tenant, few, and say nothing of it', () => {
    const long = Array.from({ length: 5000 }, (_, i) => `word${i}`).join(' ');
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'v']));
    const secret = '0123456789abcdef'.repeat(2);
    const terms = termsOf(
      termKeysOf(secret, tenant),
      requested({ body: long, recipient: 'x'.repeat(256), metadata }, 1),
    );
    expect(terms.length).toBeLessThanOrEqual(wordsPerNotificationMax + 20 + 11);
    expect(terms.every((term) => /^[0-9a-v]{10}$/.test(term))).toBe(true);
    for (const keys of [termKeysOf(secret, otherTenant), termKeysOf(`f${secret.slice(1)}`, tenant)]) {
      const others = new Set(termsOf(keys, requested({ body: long, metadata }, 1)));
      expect(terms.filter((term) => others.has(term))).toEqual([]);
    }
    const kinds = termsOf(
      termKeysOf(secret, tenant),
      requested({ subject: 'same', body: '', recipient: 's', metadata: { same: '' } }, 1),
    );
    expect(new Set(kinds).size).toBe(3);
  });

  it('are found in time that grows with the text alone, whatever the HTML', () => {
    for (const html of [
      '<'.repeat(200_000),
      '<style>'.repeat(28_000),
      '<!--'.repeat(50_000),
      '<a>'.repeat(66_000),
      '&#1'.repeat(66_000),
    ]) {
      const startedAt = performance.now();
      expect(visibleText(html, 8192).length).toBeLessThanOrEqual(8192);
      expect(performance.now() - startedAt).toBeLessThan(200);
    }
    expect(wordsOf(visibleText('a<br>b2&nbsp;c3<script>x1</script>d4<!-- e5 -->f6 < g7', 99), 9)).toEqual([
      'b2',
      'c3',
      'd4',
      'f6',
    ]);
  });

  it('find every word that stands in the text, however it is written', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[\p{L}\p{N}]{2,10}$/u), { minLength: 1, maxLength: 10 }), (words) => {
        const kept = wordsOf(words.join(', '), 100);
        for (const word of words) for (const asked of wordsOf(word, 9)) expect(kept).toContain(asked);
      }),
    );
  });
});

describe('what may lag', () => {
  it('is folded from the beginning of a log that was there before it', async () => {
    let engines = await openEngines();
    const { log, clock, logger, metrics } = engines;
    await appendAll(log, [requested({ subject: 'Before the upgrade' }, 1)]);
    const before = await runProjector({
      log,
      store: engines.store,
      clock,
      logger,
      metrics,
      readModel: notificationsReadModel,
    });
    const listed = (filter: NotificationFilter) => listNotifications(engines.store, tenant, filter, { limit: 10 });
    await until(async () => (await listed({})).records.length === 1);
    await before.stop();
    engines = await engines.reopen();
    await appendAll(engines.log, [requested({ subject: 'After the upgrade' }, 2)]);
    const turns = createTurns(clock);
    const running = await Promise.all(
      [notificationsReadModel, searchReadModel].map((readModel) => runProjector({ ...engines, turns, readModel })),
    );
    await until(async () => (await listed({ words: ['upgrade'] })).records.length === 2);
    for (const one of running) await one.stop();
    await engines.close();
  });

  it('is folded anew by itself where a version of before has folded it without a secret', async () => {
    const engines = await openEngines();
    const former = {
      name: 'search',
      collections: [
        {
          name: 'searchable',
          fields: { terms: 'texts', listedAt: 'number' },
          indexes: [{ fields: ['terms', 'listedAt'] }],
        },
      ],
    } as const;
    await engines.store.prepare(former);
    for (const { topic, partition, offset } of await appendAll(engines.log, [requested({ subject: 'Of before' }, 1)])) {
      const owner = await engines.store.own('search', partition, { generation: 1 });
      const document = { tenantId: tenant, listedAt: 1, recipient: '', terms: ['mYM4lfL7'] };
      const write = { collection: 'searchable', id: 'notif_1', document };
      await engines.store.transact(owner, new Map([[topic, offset + 1]]), [write]);
    }
    const running = await Promise.all(
      [notificationsReadModel, searchReadModel].map((readModel) => runProjector({ ...engines, readModel })),
    );
    const find = (words: string[]) => listNotifications(engines.store, tenant, { words }, { limit: 10 });
    await until(async () => (await find(['before'])).records.length === 1);
    for (const one of running) await one.stop();
    const kept = await engines.store.find({
      collection: 'searchable',
      equals: { terms: 'mYM4lfL7' },
      order: { fields: ['listedAt'], direction: 'descending' },
      limit: 1,
    });
    expect(kept.documents).toHaveLength(1);
    await engines.close();
  });
});
