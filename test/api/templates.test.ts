// Templates through the API: previews, versions, unique names however many ask at once.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';

let app: App;
let tenant: Awaited<ReturnType<App['tenant']>>;

beforeAll(async () => {
  app = await startApp({ delivers: false });
  tenant = await app.tenant('owner', { email: 'owner@example.com' });
});

afterAll(() => app.close());

const order = {
  name: 'order',
  channel: 'EMAIL',
  subject: 'Order {{ order.id }}',
  body: '<p>Dear {{ user.name }}</p>{% for item in items %}<li>{{ item.name }}</li>{% endfor %}{{ footer | raw }}',
};

const made = async (template: object): Promise<string> => {
  const { status, body } = await tenant.dashboard('POST', '/templates', template);
  expect(status).toBe(201);
  return body.id as string;
};

describe('a strict template', () => {
  const orders = {
    name: 'strict',
    channel: 'IN_APP',
    body: 'Order {{ order.id }} of {{ user.name }}{% if note %}!{% endif %}',
  };
  const send = (more: object) => tenant.notify({ channel: 'IN_APP', recipient: 'ada', ...more });
  const lacking = (names: readonly string[]) => ({
    status: 400,
    body: {
      code: 'BAD_REQUEST',
      error: `data: lacks what the template asks for: ${names.join(', ')}`,
      details: names.map((name) => ({ path: `data.${name}`, message: 'is required: the template asks for it' })),
    },
  });

  it('refuses data that lack names, all of them at once, and takes whole ones', async () => {
    await made({ ...orders, strict: true });
    expect(await send({ template: 'strict' })).toMatchObject(lacking(['order.id', 'user.name']));
    expect(await send({ template: 'strict', data: { order: { id: 1 } } })).toMatchObject(lacking(['user.name']));
    expect((await send({ template: 'strict', data: { order: { id: 1 }, user: { name: '' } } })).status).toBe(202);
  });

  it('is as strict in its next version, unless that says otherwise, and is shown so', async () => {
    const id = await made({ ...orders, name: 'kept', strict: true });
    const changed = { ...orders, name: 'kept', body: '{{ a }}' };
    const strictOf = async () =>
      (await tenant.dashboard('GET', '/templates')).body.find((one: { id: string }) => one.id === id).strict;
    expect((await tenant.dashboard('PUT', `/templates/${id}`, changed)).body).toMatchObject({
      version: 2,
      strict: true,
    });
    expect(await strictOf()).toBe(true);
    expect(await send({ template: 'kept' })).toMatchObject(lacking(['a']));
    expect((await tenant.dashboard('PUT', `/templates/${id}`, { ...changed, strict: false })).body.strict).toBe(false);
    expect(await strictOf()).toBe(false);
    expect((await send({ template: 'kept' })).status).toBe(202);
  });

  it('gives way to what a request says, which makes any other as strict', async () => {
    await made({ ...orders, name: 'own-strict', strict: true });
    await made({ ...orders, name: 'lax' });
    expect((await send({ template: 'own-strict', strict: false })).status).toBe(202);
    expect((await send({ template: 'lax' })).status).toBe(202);
    expect(await send({ template: 'lax', strict: true })).toMatchObject(lacking(['order.id', 'user.name']));
  });

  it('a request’s own text is filled in strictly even without data', async () => {
    const body = 'Hi {{ name }}';
    expect(await send({ body, strict: true })).toMatchObject(lacking(['name']));
    expect(await send({ subject: '{{ s }}', body, data: { x: 1 }, strict: true })).toMatchObject(
      lacking(['s', 'name']),
    );
    expect((await send({ body, data: { name: 'Ada' }, strict: true })).status).toBe(202);
    expect((await send({ body })).status).toBe(202);
    expect((await send({ body: 'Hi {{', strict: true })).body.error).toMatch(/^body: .*line 1/);
  });

  it('is previewed with what is missing; a strict preview refuses as sending would', async () => {
    const id = await made({ ...orders, name: 'shown', strict: true });
    const names = ['order.id', 'user.name'];
    expect((await tenant.dashboard('POST', `/templates/${id}/preview`)).body.missing).toEqual(names);
    const strict = await tenant.dashboard('POST', `/templates/${id}/preview`, { data: {}, strict: true });
    expect(strict).toMatchObject(lacking(names));
  });
});

describe('a preview', () => {
  it('is the template as it would be sent, with the names that the data lack', async () => {
    const id = await made(order);
    const data = { order: { id: 7 }, items: [{ name: '<a>' }] };
    const { status, body, headers } = await tenant.dashboard('POST', `/templates/${id}/preview`, { data });
    expect(status).toBe(200);
    expect(body).toEqual({
      subject: 'Order 7',
      body: '<p>Dear </p><li>&lt;a&gt;</li>',
      missing: ['user.name', 'footer'],
    });
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('needs no data, and has no subject where the template has none', async () => {
    const id = await made({ name: 'text', channel: 'SMS', body: '<b>{{ code }}</b>' });
    const expected = { subject: null, body: '<b></b>', missing: ['code'] };
    for (const sent of [undefined, {}, { data: {} }]) {
      expect(await tenant.dashboard('POST', `/templates/${id}/preview`, sent)).toMatchObject({
        status: 200,
        body: expected,
      });
    }
    const { body } = await tenant.dashboard('POST', `/templates/${id}/preview`, { data: { code: '<1>' } });
    expect(body).toEqual({ subject: null, body: '<b><1></b>', missing: [] });
  });

  it.each([
    [{ data: [] }, 'data'],
    [{ data: 'x' }, 'data'],
    [{ data: null }, 'data'],
    [{ data: { a: 'x'.repeat(64 * 1024) } }, 'data'],
    [{ data: JSON.parse(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`) as object }, 'data'],
    [{ data: {}, body: 'x' }, 'body'],
    [{ data: { order: { id: 'a\nb' } } }, 'subject'],
  ])('refuses what is wrong by name: %#', async (sent, path) => {
    const id = await made({ ...order, name: `order-${path}-${JSON.stringify(sent).length}` });
    const { status, body } = await tenant.dashboard('POST', `/templates/${id}/preview`, sent);
    expect(status).toBe(400);
    expect(body.details).toMatchObject([{ path }]);
  });

  it("of another tenant's template reads as of none", async () => {
    const id = await made({ ...order, name: 'own' });
    const other = await app.tenant('another');
    const foreign = await other.dashboard('POST', `/templates/${id}/preview`, { data: {} });
    const missing = await other.dashboard('POST', '/templates/tpl_none/preview', { data: {} });
    expect(foreign.status).toBe(404);
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' });
  });

  it('of a template that takes too long is refused in time', async () => {
    const body = '{% for i in (1..9000) %}{% for j in (1..9000) %}{% endfor %}{% endfor %}';
    const id = await made({ name: 'long', channel: 'SMS', body });
    const startedAt = performance.now();
    const { status } = await tenant.dashboard('POST', `/templates/${id}/preview`, {});
    expect(status).toBe(400);
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });
});

describe('a preview of a text that is not saved', () => {
  const preview = (sent: object) => tenant.dashboard('POST', '/templates/preview', sent);

  it('is what saving it would send, with the names that the data lack, and keeps nothing', async () => {
    const before = (await tenant.dashboard('GET', '/templates')).body.length;
    const { status, body } = await preview({
      channel: 'EMAIL',
      subject: order.subject,
      body: order.body,
      data: { order: { id: 7 }, items: [{ name: '<a>' }] },
    });
    const expected = { subject: 'Order 7', body: '<p>Dear </p><li>&lt;a&gt;</li>', missing: ['user.name', 'footer'] };
    expect([status, body]).toEqual([200, expected]);
    expect((await tenant.dashboard('GET', '/templates')).body).toHaveLength(before);
  });

  it('may lack what a template needs: a subject, a body, data', async () => {
    expect((await preview({ channel: 'EMAIL', body: '' })).body).toEqual({ subject: null, body: '', missing: [] });
    const plain = { channel: 'SMS', subject: null, body: '<b>{{ a }}</b>', data: { a: '<' } };
    expect((await preview(plain)).body).toEqual({ subject: null, body: '<b><</b>', missing: [] });
  });

  it.each([
    [{ body: 'one\ntwo {% if %}' }, 'body', /line 2, column 10/],
    [{ subject: '{{ a b }}', body: 'x' }, 'subject', /line 1, column/],
    [{ body: '{{ a }}', strict: true }, 'data.a', /required/],
    [{ body: 'x', name: 'x' }, 'name', /./],
    [{ body: 'x'.repeat(200 * 1024 + 1) }, 'body', /200 KiB/],
    [{ body: 'x', subject: 'x'.repeat(999) }, 'subject', /998/],
    [{ body: 'x', data: [] }, 'data', /object/],
    [{ body: '{% for i in (1..9000) %}{% for j in (1..9000) %}{% endfor %}{% endfor %}' }, 'body', /./],
  ])('says what is wrong and where: %#', async (sent, path, said) => {
    const { status, body } = await preview({ channel: 'SMS', ...sent });
    expect([status, body.details]).toMatchObject([400, [{ path, message: expect.stringMatching(said) }]]);
  });

  it('is never taken for one of a template', async () => {
    const { status, headers } = await tenant.dashboard('GET', '/templates/preview');
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('a name', () => {
  it('goes to one of twenty that ask for it at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        tenant.dashboard('POST', '/templates', { ...order, name: 'contested', subject: `${i}` }),
      ),
    );
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, ...Array<number>(19).fill(409)]);
    const { body } = await tenant.dashboard('GET', '/templates');
    expect(body.filter(({ name }: { name: string }) => name === 'contested')).toHaveLength(1);
  });

  it('that two rename to at once is had by one', async () => {
    const ids = await Promise.all([made({ ...order, name: 'left' }), made({ ...order, name: 'right' })]);
    const replies = await Promise.all(
      ids.map((id) => tenant.dashboard('PUT', `/templates/${id}`, { ...order, name: 'middle' })),
    );
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409]);
  });
});

describe('a version', () => {
  it('is kept by the request that was made with it', async () => {
    const id = await made({ name: 'versioned', channel: 'IN_APP', body: 'One {{ n }}' });
    const send = () => tenant.notify({ channel: 'IN_APP', recipient: 'u', template: 'versioned', data: { n: 1 } });
    const first = await send();
    await tenant.dashboard('PUT', `/templates/${id}`, { name: 'versioned', channel: 'IN_APP', body: 'Two {{ n }}' });
    const second = await send();
    await tenant.dashboard('DELETE', `/templates/${id}`);
    for (const [sent, version, body] of [
      [first, 1, 'One 1'],
      [second, 2, 'Two 1'],
    ] as const) {
      const shown = await tenant.withKey('GET', `/notify/${sent.body.notificationId}`, undefined, {
        'x-after-position': sent.headers.get('x-event-position') ?? '',
      });
      expect(shown.body.notification).toMatchObject({ body, template: { id, name: 'versioned', version } });
    }
  });

  it('that was replaced is listed, and shown whole, until its template goes', async () => {
    const id = await made({ name: 'history', channel: 'SMS', body: 'one' });
    await tenant.dashboard('PUT', `/templates/${id}`, { name: 'history-2', channel: 'SMS', body: 'two', strict: true });
    const at = `/templates/${id}/versions`;
    const { body } = await tenant.dashboard('GET', at);
    const savedAt = expect.stringMatching(/Z$/) as unknown;
    expect(body).toEqual({
      data: [
        { version: 2, name: 'history-2', subject: null, strict: true, savedAt },
        { version: 1, name: 'history', subject: null, strict: false, savedAt },
      ],
      nextCursor: null,
    });
    const first = { ...body.data[1], channel: 'SMS', body: 'one' };
    expect((await tenant.dashboard('GET', `${at}/1`)).body).toEqual(first);
    expect((await tenant.dashboard('GET', `${at}/2`)).body.body).toBe('two');
    for (const none of ['0', '3', '01', 'x', '1e0'])
      expect((await tenant.dashboard('GET', `${at}/${none}`)).status).toBe(404);
    expect((await tenant.dashboard('GET', '/templates/tpl_none/versions')).status).toBe(404);
    const other = await app.tenant('another-2');
    expect((await other.dashboard('GET', `${at}/1`)).status).toBe(404);
    await tenant.dashboard('DELETE', `/templates/${id}`);
    expect((await tenant.dashboard('GET', at)).status).toBe(404);
  });

  it('is new with each of many changes at once, none lost', async () => {
    const id = await made({ ...order, name: 'busy' });
    const replies = await Promise.all(
      Array.from({ length: 5 }, (_, i) =>
        tenant.dashboard('PUT', `/templates/${id}`, { ...order, name: 'busy', subject: `${i}` }),
      ),
    );
    const versions = replies.filter(({ status }) => status === 200).map(({ body }) => body.version as number);
    expect(new Set(versions).size).toBe(versions.length);
    expect(replies.every(({ status }) => status === 200 || status === 409)).toBe(true);
  });
});

describe('what does not parse', () => {
  it.each([
    ['{{ a', 'line 1, column 1'],
    ['text\n\n  {% if %}x{% endif %}', 'line 3'],
    ['{% include "x" %}', 'line 1'],
    ['a\n{{ b | nothing }}', 'line 2'],
    ['{% if a %}\n{% for x in y %}\n{% endif %}', 'line'],
  ])('is refused with its place: %j', async (body, place) => {
    const answer = await tenant.dashboard('POST', '/templates', { name: 'broken', channel: 'SMS', body });
    expect(answer.status).toBe(400);
    expect(answer.body.details).toEqual([{ path: 'body', message: expect.stringContaining(place) }]);
    expect(answer.body.details[0].message).toMatch(/column \d+/);
  });
});
