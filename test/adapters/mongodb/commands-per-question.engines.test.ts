// What a question of the dashboard costs on MongoDB: how many commands the service sends for it. Each is a way there and back and some 0.3 ms of the
// service's processor, so that a question that grows by a few stops being answered within its 25 ms without any of them being slow.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { statisticsOf } from '../../../src/api/handlers/dashboard.ts';
import { atStreamPosition } from '../../../src/api/stream-position.ts';
import { defaultPartitioning } from '../../../src/domain/topics.ts';
import { failuresRange } from '../../../src/projections/notifications/statistics-range.ts';
import { failures } from '../../../src/projections/notifications/failures.ts';
import type { NotificationFilter } from '../../../src/projections/notifications/filter.ts';
import { notificationsReadModel } from '../../../src/projections/notifications/index.ts';
import { listNotifications } from '../../../src/projections/notifications/queries.ts';
import { noon } from '../../projections/histories.ts';
import * as filled from '../../support/filled-read-models.ts';
import { client, openStore } from './cheap-queries.ts';
import { recordCommands } from './recorded-commands.ts';

const { tenant, recipient, minuteMs } = filled;
/** In the midst of an hour, so that a range has minutes and hours at both of its ends. */
const now = noon + 4000 * minuteMs + 17 * minuteMs + 123;
const log = { partitioning: defaultPartitioning };

describe('MongoDB: the commands of a question', () => {
  const { db, store } = openStore();
  beforeAll(() => filled.fillAllButTimers(store), 60_000);
  afterAll(() => store.close());

  /** What they were sent to, as it is declared. */
  const commandsOf = async (question: () => Promise<unknown>): Promise<readonly string[]> => {
    // The versions in use are looked at once a second, whatever is asked.
    await store.positions(notificationsReadModel.definition.name, 0);
    const recorded = recordCommands(client, db);
    try {
      await question();
      return recorded
        .asked()
        .filter((name) => name !== 'read_models')
        .map((name) => name.replace(/^\w+?_v\d+_/, ''));
    } finally {
      recorded.stop();
    }
  };

  it.each(['all', '30d', '7d', '24h'] as const)('statistics of %s are two, between two positions', async (range) => {
    const read = () => statisticsOf(store, tenant, { range }, now);
    const sent = await commandsOf(() => atStreamPosition({ reader: store, log }, tenant, read));
    expect([sent[0], sent.at(-1)]).toEqual(['read_model_positions', 'read_model_positions']);
    expect(sent.slice(1, -1).toSorted()).toEqual(['report_statistics', 'statistics_2']);
  });

  it.each([{ range: '30d', by: 'hour' }, { range: 'today' }] as const)(
    'by the hour they are one more: days have the latencies',
    async (query) => {
      const sent = await commandsOf(() => statisticsOf(store, tenant, query, now));
      expect(sent.toSorted()).toEqual(['report_statistics', 'statistics_2', 'statistics_2']);
    },
  );

  it('failures are one, and two for each cause and channel', async () => {
    const sent = await commandsOf(() => failures(store, tenant, failuresRange(undefined, undefined, now), {}));
    // Of one cause, by two channels.
    expect(sent).toEqual(['statistics_2', ...Array<string>(2 * 2).fill('notifications_2')]);
  });

  it.each<[string, NotificationFilter]>([
    ['everything', {}],
    ['a status', { status: 'FAILED' }],
    ['an error class', { errorClass: filled.failureClass }],
    ['a recipient', { recipient }],
    ['a code and a channel', { errorCode: filled.code, channel: 'EMAIL' }],
  ])('a page of %s is one, and one for its total', async (_, filter) => {
    const sent = await commandsOf(() => listNotifications(store, tenant, filter, { limit: 100 }));
    expect(sent).toHaveLength(2);
  });

  it.each<[string, NotificationFilter]>([
    ['a channel', { channel: 'EMAIL' }],
    ['a code and a provider', { errorCode: filled.code, provider: filled.provider }],
    ['what failed at a provider', { failedFrom: noon, provider: filled.provider }],
  ])('a page of %s is two, since its rows are looked at up to an end, and one for its total', async (_, filter) => {
    const sent = await commandsOf(() => listNotifications(store, tenant, filter, { limit: 100 }));
    expect(sent).toHaveLength(3);
  });

  it('what was requested between two moments has its minutes and each end counted', async () => {
    const filter = { from: noon + 1, to: now, provider: filled.provider };
    expect(await commandsOf(() => listNotifications(store, tenant, filter, { limit: 20 }))).toHaveLength(5);
  });
});
