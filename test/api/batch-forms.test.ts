// A batch comes to the same whether the main thread or one of its own makes the events of its items: the same results, the same events, each number's in the
// batch's order.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { NotificationRequested } from '../../src/domain/events.ts';
import { allTopics } from '../../src/domain/topics.ts';
import type { App, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { ItemsThread } from '../../src/main/items-thread.ts';
import { startItems } from '../support/items-thread.ts';
import fc from '../support/properties.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;
interface Form {
  readonly app: App;
  readonly tenant: Tenant;
}

let thread: ItemsThread;
let forms: readonly [Form, Form];

beforeAll(async () => {
  thread = await startItems();
  const start = async (itemMaker: ItemsThread['itemMaker'] | null): Promise<Form> => {
    const app = await startApp({ delivers: false, folds: false, replace: () => ({ itemMaker }) });
    const tenant = await app.tenant('owner');
    const template = { name: 'welcome', channel: 'IN_APP', body: 'Hello {{ name }}' };
    expect((await tenant.dashboard('POST', '/templates', template)).status).toBe(201);
    return { app, tenant };
  };
  forms = [await start(null), await start(thread.itemMaker)];
});
afterAll(async () => {
  for (const { app } of forms) await app.close();
  await thread.stop();
});

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.constantFrom('<b>hi</b>', 'line\nbreak', '{{ name }}', '\u0000', '😀'),
);
const metadata = fc.dictionary(fc.string({ minLength: 1, maxLength: 5 }), fc.string({ maxLength: 5 }), { maxKeys: 2 });
const rightItem = fc.record(
  {
    channel: fc.constant('IN_APP'),
    recipient: fc.constantFrom('user-1', 'user-2', 'user-3'),
    body: fc.constantFrom('hi', '<b>hi</b>', '{{ name }}', '😀'),
    subject: fc.constantFrom('Hello', ''),
    priority: fc.constantFrom('HIGH', 'DEFAULT', 'BULK'),
    metadata: fc.constantFrom({}, { order: '17' }),
    sendAt: fc.constantFrom('2100-01-01T00:00:00Z', '2000-01-01T00:00:00Z'),
    ttlSeconds: fc.constant(60),
    transactional: fc.boolean(),
  },
  { requiredKeys: ['channel', 'recipient', 'body'] },
);
const anyItem = fc.record(
  {
    channel: fc.constantFrom('IN_APP', 'WEBHOOK', 'SMS', 'EMAIL', 'FAX'),
    recipient: fc.constantFrom(
      'user-1',
      '+14155550123',
      'a@example.com',
      'https://example.com/a',
      'http://10.0.0.1/',
      '',
    ),
    body: text,
    subject: text,
    priority: fc.constantFrom('HIGH', 'LOW'),
    metadata,
    sendAt: fc.constantFrom('2100-01-01T00:00:00Z', 'soon', 4_102_444_800_000),
    ttlSeconds: fc.constantFrom(60, -1, '60'),
    replyTo: fc.constantFrom('b@example.com', 'nobody'),
    strict: fc.constant(false),
  },
  { requiredKeys: ['channel', 'recipient', 'body'] },
);
const filledItem = fc.constantFrom(
  { channel: 'IN_APP', recipient: 'user-1', template: 'welcome', data: { name: 'Ada' } },
  { channel: 'IN_APP', recipient: 'user-2', template: 'unknown' },
  { channel: 'IN_APP', recipient: 'user-1', body: 'Hi {{ name }}', data: { name: 'Bo' } },
);
const line = fc.oneof(
  { weight: 20, arbitrary: rightItem.map((item) => JSON.stringify(item)) },
  { weight: 5, arbitrary: anyItem.map((item) => JSON.stringify(item)) },
  { weight: 1, arbitrary: fc.constantFrom('no JSON', '17', '{"body":1e400}', '{"__proto__":1}', '[]') },
);
const lines = fc
  .tuple(
    fc.array(line, { minLength: 1, maxLength: 700, size: 'max' }),
    fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.tuple(filledItem, fc.nat(700)) }),
  )
  .map(([plain, filled]) => (filled === null ? plain : plain.toSpliced(filled[1], 0, JSON.stringify(filled[0]))));

/** A channel without a provider is looked up anew: what is filled in here, by a template that is known from the first time, has nothing to wait for meanwhile. */
const behindAnotherChannel = [
  { channel: 'IN_APP', recipient: 'user-1', body: 'hi' },
  { channel: 'EMAIL', recipient: 'a@example.com', subject: 'hi', body: 'hi' },
  { channel: 'IN_APP', recipient: 'user-1', template: 'welcome', data: { name: 'Ada' } },
].map((item) => JSON.stringify(item));

it('whatever its items are', async () => {
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(lines, async (items) => {
      const [here, there] = await Promise.all(forms.map((form) => cameTo(form, items)));
      expect(there).toEqual(here);
      seen += here?.events.size ?? 0;
    }),
    { numRuns: 25, examples: [[behindAnotherChannel], [behindAnotherChannel]] },
  );
  // Some thousand, and where chance made short batches a few hundred.
  expect(seen).toBeGreaterThan(50);
}, 120_000);

/** What is the same for any tenant at any time. */
async function cameTo({ app, tenant }: Form, items: readonly string[]) {
  const reply = await tenant.withKey('POST', '/notify/batch', items.join('\n'), {
    'content-type': 'application/x-ndjson',
  });
  const events = await eventsOf(app, reply);
  const indexOf = new Map<string, number>(
    (reply.body.results ?? []).map((one: { notificationId?: string; index: number }) => [
      one.notificationId,
      one.index,
    ]),
  );
  const places = events.map(({ notificationId }) => indexOf.get(notificationId) ?? -1);
  expectInOrder(events, places);
  return {
    status: reply.status,
    results: (reply.body.results ?? []).map(({ notificationId: _n, ...rest }: { notificationId: string }) => rest),
    events: new Map(
      events
        .map(
          (
            { eventId: _e, notificationId: _n, tenantId: _t, partition: _p, occurredAt: _o, requestedAt, ...event },
            i,
          ) => {
            const { batchId: _b, expiresAt = null, template, ...request } = event.request;
            const expiresInMinutes = expiresAt === null ? null : Math.round((expiresAt - requestedAt) / 60_000);
            return [places[i], { ...event, request, template: template?.name, expiresInMinutes }] as const;
          },
        )
        .toSorted(([a = 0], [b = 0]) => a - b),
    ),
  };
}

async function eventsOf({ deps: { log } }: App, { body: { batchId } }: Reply): Promise<NotificationRequested[]> {
  const events: NotificationRequested[] = [];
  if (batchId === undefined) return events;
  for (const topic of allTopics) {
    const ends = await log.ends(topic);
    for (const [partition, to] of ends.entries())
      for await (const { event } of log.read({ topic, partition, from: 0, to }))
        if (event?.type === 'NotificationRequested' && event.request.batchId === batchId) events.push(event);
  }
  return events;
}

/** Read as they are: those of a number follow one another. */
function expectInOrder(events: readonly NotificationRequested[], places: readonly number[]): void {
  const last = new Map<string, number>();
  for (const [i, { channel, priority, partition }] of events.entries()) {
    const key = `${channel} ${priority} ${partition}`;
    expect(places[i]).toBeGreaterThan(last.get(key) ?? -1);
    last.set(key, places[i] ?? -1);
  }
}
