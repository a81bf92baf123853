// What every read-model store must give a search: each adapter runs this suite, over records and terms that the real folds have made.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { NotificationRequested } from '../../src/domain/events.ts';
import type { EventId, TenantId } from '../../src/domain/ids.ts';
import type { FieldValue, ReadModelStore } from '../../src/ports/read-model-store.ts';
import { rowsPerPageMax } from '../../src/ports/read-model-store.ts';
import type { NotificationFilter } from '../../src/projections/notifications/filter.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { listNotifications } from '../../src/projections/notifications/queries.ts';
import type { ReadModel } from '../../src/projections/read-model.ts';
import type { SearchableDocument } from '../../src/projections/search/index.ts';
import { searchableCollection, searchReadModel } from '../../src/projections/search/index.ts';
import { wordsOf } from '../../src/projections/search/terms.ts';
import { entriesOf, noon, notificationIdFor, partition, requestOf, tenants } from '../projections/histories.ts';
import { metadataForged } from '../support/forged-metadata.ts';

export interface SearchHarness {
  readonly store: ReadModelStore;
  close(): Promise<void>;
}

const [tenant, otherTenant] = tenants as [TenantId, TenantId];

export interface Sent {
  readonly tenantId?: TenantId;
  readonly recipient?: string;
  readonly channel?: 'EMAIL' | 'SMS';
  readonly subject?: string | null;
  readonly body?: string;
  readonly bodyFormat?: 'text' | 'html';
  readonly metadata?: Readonly<Record<string, string>>;
}

/** One a second from noon on. */
export function requested(sent: Sent, number: number): NotificationRequested {
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

export function searchContract(name: string, open: () => Promise<SearchHarness>): void {
  describe(`${name}: a search`, () => {
    let harness: SearchHarness;
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
      harness = await open();
      const events = sent.map((of, i) => requested(of, i + 1));
      for (const readModel of [notificationsReadModel, searchReadModel])
        await foldInto(harness.store, readModel, events);
    }, 60_000);
    afterAll(() => harness.close());

    const found = async (filter: NotificationFilter, of = tenant) => {
      const list = await listNotifications(harness.store, of, filter, { limit: 10 });
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
      await foldInto(harness.store, searchReadModel, [requested({ subject: 'Early bird' }, 7)]);
      expect(await found({ words: ['early'] })).toEqual([]);
    });
  });

  describe(`${name}: a search of many`, () => {
    let harness: SearchHarness;
    const count = 5000;
    const wantedNumbers = [4, 17, 2500, 4990];
    beforeAll(async () => {
      harness = await open();
      const events = Array.from({ length: count }, (_, i) => {
        const recipient = `user-${String(i).padStart(5, '0')}@example.com`;
        return requested(
          { recipient, body: wantedNumbers.includes(i) ? 'Something rare here' : 'Common words here' },
          i,
        );
      });
      for (const readModel of [notificationsReadModel, searchReadModel])
        await foldInto(harness.store, readModel, events);
    }, 60_000);
    afterAll(() => harness.close());

    /** All pages, and how many rows the dearest of them looked at. */
    const paged = async (filter: NotificationFilter, limit: number) => {
      let looked = 0;
      const counting: ReadModelStore = {
        ...harness.store,
        async find(query) {
          const page = await harness.store.find<never>(query);
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
      const of = (filter: NotificationFilter, limit = 10) =>
        listNotifications(harness.store, tenant, filter, { limit });
      expect(await of({ words: ['common'] })).toMatchObject({
        total: count - wantedNumbers.length,
        totalIsExact: true,
      });
      expect(await of({ words: ['common', 'here'] })).toMatchObject({ totalIsExact: false });
      expect(await of({ words: ['rare', 'here'] })).toMatchObject({ total: 4, totalIsExact: true });
      const third = await listNotifications(harness.store, tenant, { words: ['common'] }, { limit: 10, page: 3 });
      expect(third.records.map(({ id }) => id)).toEqual((await paged({ words: ['common'] }, 100)).ids.slice(20, 30));
    });
  });

  describe(`${name}: another tenant's search`, () => {
    let harness: SearchHarness;
    beforeAll(async () => {
      harness = await open();
    });
    afterAll(() => harness.close());

    const invoices = () => listNotifications(harness.store, tenant, { words: ['invoice'] }, { limit: 10 });

    it('finds and counts as if it were alone, whatever a tenant sends that knows all but the secret', async () => {
      const own = [1, 2, 3].map((number) => requested({ subject: 'Your invoice', body: `Number ${number}` }, number));
      const { key, value } = metadataForged(otherTenant, { tenantId: tenant, word: 'invoice' });
      const forged = Array.from({ length: rowsPerPageMax + 100 }, (_, i) =>
        requested({ tenantId: otherTenant, body: 'invoice', metadata: { [key]: value } }, 100 + i),
      );
      for (const readModel of [notificationsReadModel, searchReadModel])
        await foldInto(harness.store, readModel, [...own, ...forged]);
      const found = await invoices();
      expect(found.records.map(({ id }) => id)).toEqual([3, 2, 1].map(notificationIdFor));
      expect(found).toMatchObject({ total: 3, totalIsExact: true, next: null });
      const forger = await listNotifications(harness.store, otherTenant, { metadata: { [key]: value } }, { limit: 1 });
      expect(forger.total).toBe(forged.length);
    }, 60_000);

    it('is by terms that no other installation has, and the same ones after a restart', async () => {
      const event = requested({ subject: 'Your invoice', metadata: { plan: 'gold' } }, 9000);
      const other = await open();
      for (const { store } of [harness, other]) await foldInto(store, searchReadModel, [event]);
      const terms = async ({ store }: SearchHarness) => {
        const found = await store.get<SearchableDocument>(searchableCollection.name, [event.notificationId]);
        return found.get(event.notificationId)?.terms ?? [];
      };
      const [own, foreign] = [await terms(harness), await terms(other)];
      await other.close();
      expect(own).toHaveLength(foreign.length);
      expect(own.filter((term) => foreign.includes(term))).toEqual([]);
      await harness.store.prepare(searchReadModel.definition);
      const [again] = await searchReadModel.fold(entriesOf([event]), harness.store);
      expect(again?.document).toMatchObject({ terms: own });
    });
  });
}
