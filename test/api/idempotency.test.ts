// Idempotency-Key: what is asked for twice under one key is one notification, whatever ends, is away or is lost in between.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { IdempotencyStore, KeyEntry } from '../../src/ports/idempotency-store.ts';
import type { ApiDependencies } from '../../src/api/app.ts';
import type { App, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const hour = 3_600_000;
const inApp = { channel: 'IN_APP', recipient: 'ada', subject: 'Hello', body: 'World' };
const keyed = (key: string) => ({ 'idempotency-key': key });

let app: App;
let tenant: Tenant;
/** Ahead of the real clock. */
let aheadMs = 0;
let calls: string[] = [];
/** What the store does in place of what it is asked. */
let instead: Partial<IdempotencyStore> = {};
let kept: IdempotencyStore;
/** What the log answers in place of appending. */
let appendInstead: ApiDependencies['log']['append'] | null = null;

beforeAll(async () => {
  app = await startApp({
    delivers: false,
    replace(deps) {
      kept = deps.idempotency;
      const watched = Object.fromEntries(
        Object.keys(kept).map((name) => [
          name,
          (...args: never[]) => {
            calls.push(name);
            const stores = { ...kept, ...instead } as Record<string, (...args: never[]) => unknown>;
            return stores[name]?.(...args);
          },
        ]),
      ) as unknown as IdempotencyStore;
      return {
        idempotency: watched,
        clock: { ...deps.clock, now: () => deps.clock.now() + aheadMs },
        log: { ...deps.log, append: (event) => (appendInstead ?? deps.log.append)(event) },
      };
    },
  });
  tenant = await app.tenant('owner', { email: 'owner@example.com' });
});
afterAll(() => app.close());

async function countOf(of: Tenant, recipient: string): Promise<number> {
  const { body } = await of.dashboard('GET', `/notifications?recipient=${recipient}`);
  return body.pagination.total;
}
const idOf = ({ body }: Reply): string => body.notificationId;
const isReplayed = ({ headers }: Reply) => headers.get('idempotent-replayed') === 'true';

async function during<T>(other: Partial<IdempotencyStore>, work: () => Promise<T>): Promise<T> {
  instead = other;
  try {
    return await work();
  } finally {
    instead = {};
  }
}

describe('a request with an Idempotency-Key', () => {
  it('repeated gets the same answer, and says so; nothing is accepted again', async () => {
    const sent = { ...inApp, recipient: 'repeated' };
    const first = await tenant.notify(sent, keyed('repeat'));
    const second = await tenant.notify(sent, keyed('repeat'));
    expect([first.status, second.status]).toEqual([202, 202]);
    expect([isReplayed(first), isReplayed(second)]).toEqual([false, true]);
    expect(second.body).toEqual(first.body);
    for (const name of ['location', 'x-event-position']) expect(second.headers.get(name)).toBe(first.headers.get(name));
    expect(await countOf(tenant, 'repeated')).toBe(1);
    const shown = await tenant.withKey('GET', `/notify/${idOf(first)}`);
    expect(shown.body.notification).toMatchObject({ id: idOf(first), body: 'World' });
  });

  it('200 times at once makes one notification', async () => {
    const sent = { ...inApp, recipient: 'parallel' };
    const replies = await Promise.all(Array.from({ length: 200 }, () => tenant.notify(sent, keyed('parallel'))));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(replies.map(idOf)).size).toBe(1);
    expect(replies.filter((reply) => !isReplayed(reply))).toHaveLength(1);
    expect(await countOf(tenant, 'parallel')).toBe(1);
  });

  it('that asks for something else is 422, also while the first is under way', async () => {
    const sent = { ...inApp, recipient: 'reused' };
    const both = await Promise.all([sent, { ...sent, body: 'Else' }].map((one) => tenant.notify(one, keyed('reused'))));
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([202, 422]));
    const refused = await tenant.notify({ ...sent, priority: 'HIGH' }, keyed('reused'));
    expect(refused).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED', details: [] } });
    expect(await countOf(tenant, 'reused')).toBe(1);
  });

  it('is the same by other names and in another order', async () => {
    const sent = { ...inApp, recipient: 'named', data: { a: 1, b: 2 }, metadata: { x: '1', y: '2' } };
    const same = {
      metadata: { y: '2', x: '1' },
      data: { b: 2, a: 1 },
      priority: 'DEFAULT',
      rawBody: sent.body,
      rawSubject: sent.subject,
      recipient: sent.recipient,
      channel: sent.channel,
    };
    const first = await tenant.notify(sent, keyed('names'));
    const second = await tenant.notify(same, keyed('names'));
    expect([first.status, second.status, isReplayed(second)]).toEqual([202, 202, true]);
  });

  it('is its tenant’s own: another one’s same key says nothing of it', async () => {
    const other = await app.tenant('other');
    const sent = { ...inApp, recipient: 'shared' };
    const first = await tenant.notify(sent, keyed('shared'));
    const second = await other.notify({ ...sent, body: 'Theirs' }, keyed('shared'));
    expect([first.status, second.status, isReplayed(second)]).toEqual([202, 202, false]);
    expect(idOf(second)).not.toBe(idOf(first));
  });

  it('is refused as it would be without one, and may be mended and sent again', async () => {
    const bad = await tenant.notify({ ...inApp, recipient: '' }, keyed('mended'));
    expect(bad.status).toBe(400);
    expect(
      (await tenant.notify({ ...inApp, template: 'none', body: undefined, subject: undefined }, keyed('mended')))
        .status,
    ).toBe(400);
    expect(
      (await tenant.notify({ channel: 'SMS', recipient: '+4915112345678', body: 'x' }, keyed('mended'))).status,
    ).toBe(422);
    expect(await tenant.notify(inApp, keyed('mended'))).toMatchObject({ status: 202 });
  });

  it('is answered again although its template is gone by then', async () => {
    const made = await tenant.dashboard('POST', '/templates', {
      name: 'fleeting',
      channel: 'IN_APP',
      body: 'Hi {{ name }}',
    });
    const sent = { channel: 'IN_APP', recipient: 'templated', template: 'fleeting', data: { name: 'Ada' } };
    const first = await tenant.notify(sent, keyed('fleeting'));
    expect(first.status).toBe(202);
    await tenant.dashboard('DELETE', `/templates/${made.body.id}`);
    const second = await tenant.notify(sent, keyed('fleeting'));
    expect([second.status, isReplayed(second), idOf(second)]).toEqual([202, true, idOf(first)]);
    expect((await tenant.notify(sent, keyed('another'))).status).toBe(400);
  });

  it.each(['', 'x'.repeat(256), 'tab\there', 'öffnen'])('with the key %j is 400', async (key) => {
    const reply = await tenant.notify(inApp, keyed(key));
    expect(reply).toMatchObject({ status: 400, body: { details: [{ path: 'Idempotency-Key' }] } });
  });

  it('without one asks no store of keys', async () => {
    calls = [];
    expect((await tenant.notify(inApp)).status).toBe(202);
    expect(calls).toEqual([]);
  });
});

describe('a tenant that begins too many keys', () => {
  let own: App;
  beforeAll(async () => {
    own = await startApp({ delivers: false, options: { keyLimit: { limit: 3, windowMs: 3_600_000 } } });
  });
  afterAll(() => own.close());

  it('is told so: what has begun is repeated, what needs no key is accepted, and nobody else notices', async () => {
    const [many, other] = [await own.tenant('many'), await own.tenant('other')];
    const first = await many.notify(inApp, keyed('k1'));
    const replies = await Promise.all(['k2', 'k3', 'k4', 'k5'].map((key) => many.notify(inApp, keyed(key))));
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 202, 429, 429]);
    const refused = replies.find(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    expect(refused?.body.error).toMatch(/idempotency keys/);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(3500);
    const again = await many.notify(inApp, keyed('k1'));
    expect([again.status, isReplayed(again), idOf(again)]).toEqual([202, true, idOf(first)]);
    expect((await many.notify(inApp)).status).toBe(202);
    expect((await other.notify(inApp, keyed('k9'))).status).toBe(202);
    expect(await countOf(many, 'ada')).toBe(4);
  });
});

describe('after 24 h', () => {
  afterAll(() => {
    aheadMs = 0;
  });

  it('a key begins anew, and not a moment sooner', async () => {
    const sent = { ...inApp, recipient: 'daily' };
    const first = await tenant.notify(sent, keyed('daily'));
    aheadMs = 24 * hour - 60_000;
    const sameDay = await tenant.notify(sent, keyed('daily'));
    expect([isReplayed(sameDay), idOf(sameDay)]).toEqual([true, idOf(first)]);
    aheadMs = 24 * hour + 1000;
    const next = await tenant.notify({ ...sent, body: 'The next day' }, keyed('daily'));
    expect([next.status, isReplayed(next)]).toEqual([202, false]);
    expect(idOf(next)).not.toBe(idOf(first));
    expect(await countOf(tenant, 'daily')).toBe(2);
  });
});

describe('whatever happens between the reservation and the answer', () => {
  const gone = async () => Promise.reject(new Error('the store is away'));
  const folded = (recipient: string) =>
    until(async () => (await countOf(tenant, recipient)) === 1, { what: 'the record', timeoutMs: 10_000 });
  const entryOf = async (recipient: string, key: string, more: Partial<KeyEntry>): Promise<KeyEntry> => {
    let taken: KeyEntry | undefined;
    await during(
      {
        reserve: async (entry) => {
          taken = entry;
          throw new Error('seen');
        },
      },
      () => tenant.notify({ ...inApp, recipient }, keyed(key)),
    );
    if (taken === undefined) throw new Error('nothing was reserved');
    return { ...taken, ...more };
  };

  it('a store that is away accepts nothing, and the repeat is accepted once', async () => {
    const sent = { ...inApp, recipient: 'away' };
    const refused = await during({ reserve: gone, find: gone }, () => tenant.notify(sent, keyed('away')));
    expect(refused).toMatchObject({ status: 503, body: { code: 'SERVICE_UNAVAILABLE' } });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await tenant.notify(inApp)).status).toBe(202);
    const replies = [await tenant.notify(sent, keyed('away')), await tenant.notify(sent, keyed('away'))];
    expect(replies.map(isReplayed)).toEqual([false, true]);
    expect(await countOf(tenant, 'away')).toBe(1);
  });

  it('a store that goes away after the append: the 202 stands, and the repeat finds the notification in the records', async () => {
    const sent = { ...inApp, recipient: 'unsettled' };
    const first = await during({ settle: gone }, () => tenant.notify(sent, keyed('unsettled')));
    expect(first.status).toBe(202);
    expect(app.lines.some(({ message }) => message === 'an idempotency key was not settled')).toBe(true);
    await folded('unsettled');
    const second = await tenant.notify(sent, keyed('unsettled'));
    expect([second.status, isReplayed(second), idOf(second)]).toEqual([202, true, idOf(first)]);
    expect((await tenant.notify({ ...sent, body: 'Else' }, keyed('unsettled'))).status).toBe(422);
    expect(await countOf(tenant, 'unsettled')).toBe(1);
  });

  it('the same where its template is gone by then; what was never accepted is refused for that', async () => {
    const made = await tenant.dashboard('POST', '/templates', { name: 'gone', channel: 'IN_APP', body: '{{ n }}' });
    const sent = { channel: 'IN_APP', recipient: 'template-gone', template: 'gone', data: { n: 1 } };
    const first = await during({ settle: gone }, () => tenant.notify(sent, keyed('template-gone')));
    expect(first.status).toBe(202);
    appendInstead = async () => ({ kind: 'unknown', reason: 'asked to' });
    expect((await tenant.notify(sent, keyed('never-there'))).status).toBe(503);
    appendInstead = null;
    await folded('template-gone');
    await tenant.dashboard('DELETE', `/templates/${made.body.id}`);
    const second = await tenant.notify(sent, keyed('template-gone'));
    expect([second.status, isReplayed(second), idOf(second)]).toEqual([202, true, idOf(first)]);
    try {
      aheadMs = 31_000;
      const never = await tenant.notify(sent, keyed('never-there'));
      expect(never).toMatchObject({ status: 400, body: { details: [{ path: 'template' }] } });
    } finally {
      aheadMs = 0;
    }
    expect(await countOf(tenant, 'template-gone')).toBe(1);
  });

  it('a store that lost the key: the repeat finds the notification in the records, and what it asked for', async () => {
    const sent = { ...inApp, recipient: 'lost', data: { name: 'Ada' }, subject: 'Hi {{ name }}', metadata: { a: '1' } };
    // As a store does that is put back from a backup of before.
    const first = await during({ reserve: async () => null, settle: async () => {} }, () =>
      tenant.notify(sent, keyed('lost')),
    );
    await folded('lost');
    const replies = [await tenant.notify(sent, keyed('lost')), await tenant.notify(sent, keyed('lost'))];
    expect(replies.map((reply) => [reply.status, isReplayed(reply), idOf(reply)])).toEqual(
      [1, 2].map(() => [202, true, idOf(first)]),
    );
    expect((await tenant.notify({ ...sent, data: { name: 'Bob' } }, keyed('lost'))).status).toBe(422);
    expect(await countOf(tenant, 'lost')).toBe(1);
  });

  it('the same where it was tomorrow already by the clock of whoever took it in', async () => {
    const sent = { ...inApp, recipient: 'tomorrow' };
    const midnight = Math.ceil(Date.now() / (24 * hour)) * 24 * hour;
    try {
      aheadMs = midnight + 10_000 - Date.now();
      const first = await during({ reserve: async () => null, settle: async () => {} }, () =>
        tenant.notify(sent, keyed('tomorrow')),
      );
      await folded('tomorrow');
      aheadMs = midnight - 10_000 - Date.now();
      const again = await tenant.notify(sent, keyed('tomorrow'));
      expect([again.status, isReplayed(again), idOf(again)]).toEqual([202, true, idOf(first)]);
      expect(await countOf(tenant, 'tomorrow')).toBe(1);
    } finally {
      aheadMs = 0;
    }
  });

  it('the same for a mail with copies: it is told from one with others', async () => {
    const config = { fromName: 'Shop', fromEmail: 'shop@example.com' };
    const provider = { channel: 'EMAIL', provider: 'resend', apiKey: 're_123', config, enabled: true };
    expect((await tenant.dashboard('POST', '/providers', provider)).status).toBe(200);
    const mail = { channel: 'EMAIL', recipient: 'copied@example.com', subject: 's', body: 'b', cc: ['c@example.com'] };
    const first = await during({ reserve: async () => null, settle: async () => {} }, () =>
      tenant.notify(mail, keyed('copied')),
    );
    await folded(mail.recipient);
    const again = await tenant.notify(mail, keyed('copied'));
    expect([again.status, isReplayed(again), idOf(again)]).toEqual([202, true, idOf(first)]);
    for (const other of [{ cc: [] }, { bcc: ['d@example.com'] }, { replyTo: 'r@example.com' }])
      expect((await tenant.notify({ ...mail, ...other }, keyed('copied'))).status).toBe(422);
    expect(await countOf(tenant, mail.recipient)).toBe(1);
  });

  it('a process that ended before its append: another one takes the key over after the lease, under the same id', async () => {
    const sent = { ...inApp, recipient: 'orphan' };
    const orphan = await entryOf('orphan', 'orphan', { leaseUntil: 0 });
    await kept.reserve(orphan, orphan.requestedAt);
    const replies = await Promise.all(Array.from({ length: 20 }, () => tenant.notify(sent, keyed('orphan'))));
    expect(new Set(replies.map(idOf))).toEqual(new Set([orphan.notificationId]));
    expect(replies.filter((reply) => !isReplayed(reply))).toHaveLength(1);
    expect(await countOf(tenant, 'orphan')).toBe(1);
  });

  it('the same where its clock was ahead by hours: nobody waits for as long', async () => {
    const sent = { ...inApp, recipient: 'ahead' };
    const orphan = await entryOf('ahead', 'ahead', { leaseUntil: Date.now() + 2 * 3_600_000 });
    await kept.reserve(orphan, orphan.requestedAt);
    const reply = await tenant.notify(sent, keyed('ahead'));
    expect([reply.status, idOf(reply)]).toEqual([202, orphan.notificationId]);
    expect(await countOf(tenant, 'ahead')).toBe(1);
  });

  it('the same of a store that had lost the key: what was accepted yesterday is found first', async () => {
    const sent = { ...inApp, recipient: 'yesterday' };
    const midnight = Math.ceil(Date.now() / (24 * hour)) * 24 * hour;
    try {
      aheadMs = midnight - 10_000 - Date.now();
      const first = await during({ reserve: async () => null, settle: async () => {} }, () =>
        tenant.notify(sent, keyed('yesterday')),
      );
      await folded('yesterday');
      aheadMs = midnight + 10_000 - Date.now();
      const orphan = await entryOf('yesterday', 'yesterday', { leaseUntil: 0 });
      expect(orphan.notificationId).not.toBe(idOf(first));
      await kept.reserve(orphan, orphan.requestedAt);
      const again = await tenant.notify(sent, keyed('yesterday'));
      expect([again.status, isReplayed(again), idOf(again)]).toEqual([202, true, idOf(first)]);
      expect(await countOf(tenant, 'yesterday')).toBe(1);
    } finally {
      aheadMs = 0;
    }
  });

  it('a process that may still append: the repeat waits, then is 409 with Retry-After', async () => {
    const orphan = await entryOf('busy', 'busy', {});
    await kept.reserve(orphan, orphan.requestedAt);
    const reply = await tenant.notify({ ...inApp, recipient: 'busy' }, keyed('busy'));
    expect(reply).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    const position = { topic: 'notifications.in-app.default', partition: 0, offset: 0 } as const;
    await kept.settle({ ...orphan, leaseUntil: null, position });
    expect((await tenant.notify({ ...inApp, recipient: 'busy' }, keyed('busy'))).status).toBe(202);
  });

  it('an append that is refused gives the key back at once', async () => {
    const sent = { ...inApp, recipient: 'full' };
    appendInstead = async () => ({ kind: 'refused', reason: 'full' });
    const refused = await tenant.notify(sent, keyed('full'));
    appendInstead = null;
    expect(refused.status).toBe(503);
    const second = await tenant.notify(sent, keyed('full'));
    expect([second.status, isReplayed(second)]).toEqual([202, false]);
  });

  it('an append without an answer says so, and the repeat finds what came of it', async () => {
    const sent = { ...inApp, recipient: 'unknown' };
    appendInstead = async (event) => {
      appendInstead = null;
      await app.deps.log.append(event);
      return { kind: 'unknown', reason: 'no answer' };
    };
    const first = await tenant.notify(sent, keyed('unknown'));
    expect(first.status).toBe(503);
    expect(first.body.error).toMatch(/may have been accepted.+Repeat it with the same Idempotency-Key/);
    await folded('unknown');
    const second = await tenant.notify(sent, keyed('unknown'));
    expect([second.status, isReplayed(second)]).toEqual([202, true]);
    expect(await countOf(tenant, 'unknown')).toBe(1);
  });

  it('an append without an answer and without a key recommends none that it hasn’t', async () => {
    appendInstead = async () => ({ kind: 'unknown', reason: 'no answer' });
    const reply = await tenant.notify(inApp);
    appendInstead = null;
    expect(reply.status).toBe(503);
    expect(reply.body.error).not.toContain('Repeat');
  });
});
