// Searching: which notifications a text, the beginning of a recipient and metadata find, and that what may lag gives way to what must not.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { createClock } from '../../src/adapters/node/clock.ts';
import type { NotificationRequested } from '../../src/domain/events.ts';
import type { EventId, TenantId } from '../../src/domain/ids.ts';
import type { FieldValue, ReadModelStore } from '../../src/ports/read-model-store.ts';
import { rowsPerPageMax } from '../../src/ports/read-model-store.ts';
import type { NotificationFilter } from '../../src/projections/notifications/filter.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { listNotifications } from '../../src/projections/notifications/queries.ts';
import { runProjector } from '../../src/projections/projector.ts';
import type { ReadModel } from '../../src/projections/read-model.ts';
import { searchReadModel } from '../../src/projections/search/index.ts';
import { termsOf, wordsOf, wordsPerNotificationMax } from '../../src/projections/search/terms.ts';
import { visibleText } from '../../src/projections/search/visible-text.ts';
import { createTurns } from '../../src/projections/turns.ts';
import { until } from '../support/until.ts';
import type { Engines } from './engines.ts';
import { appendAll, openEngines } from './engines.ts';
import { entriesOf, noon, notificationIdFor, partition, requestOf, tenants } from './histories.ts';

const [tenant, otherTenant] = tenants as [TenantId, TenantId];

interface Sent {
  readonly tenantId?: TenantId;
  readonly recipient?: string;
  readonly channel?: 'EMAIL' | 'SMS';
  readonly subject?: string | null;
  readonly body?: string;
  readonly bodyFormat?: 'text' | 'html';
  readonly metadata?: Readonly<Record<string, string>>;
}

/** One a second from noon on. */
function requested(sent: Sent, number: number): NotificationRequested {
  const { tenantId = tenant, recipient = 'ada@example.com', channel = 'EMAIL', ...request } = sent;
  const requestedAt = noon + number * 1000;
  const ids = { eventId: `work-${number}` as EventId, notificationId: notificationIdFor(number), tenantId };
  const of = { traceparent: null, occurredAt: requestedAt, requestedAt, channel, priority: 'DEFAULT' } as const;
  return { type: 'NotificationRequested', ...ids, ...of, recipient, round: 1, partition, request: requestOf(request) };
}

async function foldInto(store: ReadModelStore, readModel: ReadModel, events: readonly NotificationRequested[]) {
  await store.prepare(readModel.definition);
  let owner = await store.own(readModel.definition.name, partition, { generation: 1 });
  for (let at = 0; at < events.length; at += 500) {
    owner = await store.transact(owner, new Map(), await readModel.fold(entriesOf(events.slice(at, at + 500)), store));
  }
}

describe('a search', () => {
  let engines: Engines;
  const sent: readonly Sent[] = [
    { recipient: 'Ada@Example.com', subject: 'Order 1017 shipped', body: 'It is on its way, Ada.' },
    { recipient: 'adam@example.org', subject: 'Order 1018 shipped', body: 'It waits.', metadata: { plan: 'free' } },
    { recipient: '+4915112345678', channel: 'SMS', subject: null, body: 'Grüße aus Köln: 1017' },
    {
      recipient: '+4915112345999',
      channel: 'SMS',
      subject: null,
      body: 'Your code is 7',
      metadata: { plan: 'gold', a: 'b' },
    },
    {
      subject: 'News',
      body: '<p class="order">Caf&eacute; <b>Order</b>s</p><style>p{color:shipped}</style>',
      bodyFormat: 'html',
    },
    { tenantId: otherTenant, subject: 'Order 1017 shipped' },
  ];
  beforeAll(async () => {
    engines = await openEngines();
    const events = sent.map((of, i) => requested(of, i + 1));
    for (const readModel of [notificationsReadModel, searchReadModel]) await foldInto(engines.store, readModel, events);
  });
  afterAll(() => engines.close());

  const found = async (filter: NotificationFilter, of = tenant) => {
    const list = await listNotifications(engines.store, of, filter, { limit: 10 });
    expect(list).toMatchObject({ total: list.records.length, totalIsExact: true, next: null });
    return list.records.map(({ id }) => [1, 2, 3, 4, 5, 6].find((number) => notificationIdFor(number) === id));
  };

  it.each<[string, NotificationFilter, number[]]>([
    ['a word of the subject, newest first', { words: ['shipped'] }, [2, 1]],
    ['a number, in subject or body', { words: ['1017'] }, [3, 1]],
    ['all words, wherever they stand', { words: ['way', '1017'] }, [1]],
    ['words without case and accents', { words: wordsOf('GRUSSE koln', 9) }, []],
    ['the same with their own letters', { words: wordsOf('GRÜßE Köln', 9) }, [3]],
    ['words of an HTML body that are seen', { words: ['order'] }, [5, 2, 1]],
    ['no part of a word', { words: ['ship'] }, []],
    ['the beginning of a recipient, in any case', { recipientPrefix: 'ADA' }, [5, 2, 1]],
    ['one between the lengths that are kept', { recipientPrefix: 'ada@e' }, [5, 1]],
    ['one longer than all of them', { recipientPrefix: '+49151123456789' }, []],
    ['a whole recipient', { recipientPrefix: '+4915112345678' }, [3]],
    ['the beginning of a phone number', { recipientPrefix: '+49' }, [4, 3]],
    ['metadata', { metadata: { plan: 'gold' } }, [5, 4, 3, 1]],
    ['metadata, all pairs', { metadata: { plan: 'gold', a: 'b' } }, [4]],
    ['metadata of another value', { metadata: { plan: 'silver' } }, []],
    [
      'a text and a recipient and metadata',
      { words: ['order'], recipientPrefix: 'adam', metadata: { plan: 'free' } },
      [2],
    ],
    ['a text and facts of the record', { words: ['1017'], channel: 'SMS' }, [3]],
    ['a text and a status', { words: ['order'], status: 'DELIVERED' }, []],
    ['a text and a time', { words: ['order'], from: noon + 2000, to: noon + 5000 }, [2]],
  ])('by %s', async (_, filter, expected) => {
    expect(await found(filter)).toEqual(expected);
  });

  it('of another tenant finds its own alone', async () => {
    expect(await found({ words: ['1017'] }, otherTenant)).toEqual([6]);
    expect(await found({ recipientPrefix: 'adam' }, otherTenant)).toEqual([]);
  });

  it('leaves out what the records do not have yet', async () => {
    await foldInto(engines.store, searchReadModel, [requested({ subject: 'Early bird' }, 7)]);
    expect(await found({ words: ['early'] })).toEqual([]);
  });
});

describe('a search of many', () => {
  let engines: Engines;
  const count = 5000;
  const wantedNumbers = [4, 17, 2500, 4990];
  beforeAll(async () => {
    engines = await openEngines();
    const events = Array.from({ length: count }, (_, i) => {
      const recipient = `user-${String(i).padStart(5, '0')}@example.com`;
      return requested({ recipient, body: wantedNumbers.includes(i) ? 'Something rare here' : 'Common words here' }, i);
    });
    for (const readModel of [notificationsReadModel, searchReadModel]) await foldInto(engines.store, readModel, events);
  });
  afterAll(() => engines.close());

  /** All pages, and how many rows the dearest of them looked at. */
  const paged = async (filter: NotificationFilter, limit: number) => {
    let looked = 0;
    const counting: ReadModelStore = {
      ...engines.store,
      async find(query) {
        const page = await engines.store.find<never>(query);
        looked += page.documents.length;
        return page;
      },
    };
    const ids: string[] = [];
    let most = 0;
    let after: readonly FieldValue[] | null = null;
    do {
      looked = 0;
      const place: Parameters<typeof listNotifications>[3] = { limit, ...(after === null ? {} : { after }) };
      const page: Awaited<ReturnType<typeof listNotifications>> = await listNotifications(
        counting,
        tenant,
        filter,
        place,
      );
      ids.push(...page.records.map(({ id }) => id));
      most = Math.max(most, looked);
      after = page.next;
    } while (after !== null);
    return { ids, looked: most };
  };
  const idsOf = (numbers: readonly number[]) => numbers.map(notificationIdFor).toReversed();

  it('finds the rarest by few rows, whatever else is asked with it', async () => {
    const { ids, looked } = await paged({ words: ['here', 'something', 'rare'], recipientPrefix: 'user-' }, 10);
    expect(ids).toEqual(idsOf(wantedNumbers));
    expect(looked).toBe(wantedNumbers.length);
  });

  it('passes on pages without a gap or a repeat', async () => {
    const { ids } = await paged({ words: ['common'] }, 7);
    expect(ids).toEqual(idsOf(Array.from({ length: count }, (_, i) => i).filter((i) => !wantedNumbers.includes(i))));
  });

  it('comes back short after so many rows, and goes on', async () => {
    // No fact of theirs is in the index: every row is looked at.
    const { ids, looked } = await paged({ words: ['common'], recipient: 'user-00001@example.com' }, 10);
    expect(ids).toEqual(idsOf([1]));
    expect(looked).toBe(rowsPerPageMax);
  });

  it('tells a total that one term counts, and else what it has seen', async () => {
    const of = (filter: NotificationFilter, limit = 10) => listNotifications(engines.store, tenant, filter, { limit });
    expect(await of({ words: ['common'] })).toMatchObject({ total: count - wantedNumbers.length, totalIsExact: true });
    expect(await of({ words: ['common', 'here'] })).toMatchObject({ totalIsExact: false });
    expect(await of({ words: ['rare', 'here'] })).toMatchObject({ total: 4, totalIsExact: true });
    const third = await listNotifications(engines.store, tenant, { words: ['common'] }, { limit: 10, page: 3 });
    expect(third.records.map(({ id }) => id)).toEqual((await paged({ words: ['common'] }, 100)).ids.slice(20, 30));
  });
});

describe('the terms of a notification', () => {
  it('are of its tenant, few, and say nothing of it', () => {
    const long = Array.from({ length: 5000 }, (_, i) => `word${i}`).join(' ');
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'v']));
    const terms = termsOf(requested({ body: long, recipient: 'x'.repeat(256), metadata }, 1));
    expect(terms.length).toBeLessThanOrEqual(wordsPerNotificationMax + 20 + 11);
    expect(terms.every((term) => /^[\w-]{8}$/.test(term))).toBe(true);
    const others = new Set(termsOf(requested({ body: long, metadata, tenantId: otherTenant }, 1)));
    expect(terms.filter((term) => others.has(term))).toEqual([]);
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

  it('folds one batch at a time, and rests while others have much to do', async () => {
    const sleeps: number[] = [];
    let now = 0;
    const clock = { ...createClock(), monotonic: () => now, sleep: async (ms: number) => void sleeps.push(ms) };
    const turns = createTurns(clock);
    const { signal } = new AbortController();
    let running = 0;
    const work = async () => {
      expect(++running).toBe(1);
      now += 20;
      await Promise.resolve();
      running--;
    };
    await Promise.all([turns.run(signal, work), turns.run(signal, work)]);
    expect(sleeps).toEqual([]);
    turns.noted(500);
    await Promise.all([turns.run(signal, work), turns.run(signal, work)]);
    expect(sleeps).toEqual([80, 80]);
    const failing = async () => {
      await work();
      throw new Error('no');
    };
    await expect(turns.run(signal, failing)).rejects.toThrow('no');
    now += 1000;
    await turns.run(signal, work);
    expect(sleeps).toHaveLength(3);
  });
});
