// Further API keys: what each scope opens, how they are made and ended, and that none of it is another tenant's business.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  app = await startApp();
  tenant = await app.tenant('keys-owner');
  other = await app.tenant('keys-other');
});
afterAll(() => app.close());

const inApp = { channel: 'IN_APP', recipient: 'ada', body: 'hello' };
const paths = (body: { details: { path: string }[] }) => body.details.map(({ path }) => path);
const make = (scopes: readonly string[], name = 'A key', of = tenant) =>
  of.dashboard('POST', '/keys', { name, scopes });
const withKey = (key: string, method: string, path: string, body?: unknown) =>
  app.call(method, `/api/v1${path}`, { 'x-api-key': key }, body);

describe('a further key', () => {
  it('is shown whole once, then by its first characters', async () => {
    const { status, body } = await make(['notify', 'inbox'], '  Backend 2  ');
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
      name: 'Backend 2',
      scopes: ['notify', 'inbox'],
      prefix: body.key.slice(0, 8),
      createdAt: expect.stringMatching(/Z$/),
      lastUsedAt: null,
      key: expect.stringMatching(/^nk_[0-9A-Za-z]{38}$/),
    });
    const { key, ...listed } = body;
    const list = await tenant.dashboard('GET', '/keys');
    expect(list.status).toBe(200);
    expect(list.body).toContainEqual(listed);
    expect(JSON.stringify(list.body)).not.toContain(key);
    const stored = await app.deps.settings.settings(tenant.id as never);
    expect(JSON.stringify(stored)).not.toContain(key);
  });

  it('is listed newest first', async () => {
    const older = (await make(['read'], 'older')).body;
    await until(() => Date.now() > Date.parse(older.createdAt));
    const newer = (await make(['read'], 'newer')).body;
    const { body } = await tenant.dashboard('GET', '/keys');
    expect(body.slice(0, 2).map(({ id }: { id: string }) => id)).toEqual([newer.id, older.id]);
  });

  it.each([
    [{ scopes: ['notify'] }, 'name'],
    [{ name: '   ', scopes: ['notify'] }, 'name'],
    [{ name: 'x'.repeat(101), scopes: ['notify'] }, 'name'],
    [{ name: 'two\nlines', scopes: ['notify'] }, 'name'],
    [{ name: 'a\u0000b', scopes: ['notify'] }, 'name'],
    [{ name: 'n' }, 'scopes'],
    [{ name: 'n', scopes: [] }, 'scopes'],
    [{ name: 'n', scopes: ['read', 'read'] }, 'scopes'],
    [{ name: 'n', scopes: ['admin'] }, 'scopes.0'],
    [{ name: 'n', scopes: 'read' }, 'scopes'],
    [{ name: 'n', scopes: ['read'], expiresAt: 1 }, 'expiresAt'],
  ])('that is wrong is refused by name: %j', async (sent, path) => {
    const { status, body } = await tenant.dashboard('POST', '/keys', sent);
    expect([status, paths(body)]).toEqual([400, [path]]);
  });

  it('is one of fifty', async () => {
    const crowded = await app.tenant('keys-crowded');
    const made = await Promise.all(Array.from({ length: 52 }, (_, i) => make(['read'], `key ${i}`, crowded)));
    expect(made.filter(({ status }) => status === 201)).toHaveLength(50);
    const full = made.find(({ status }) => status !== 201);
    expect([full?.status, full?.body.code]).toEqual([409, 'CONFLICT']);
    const [first] = (await crowded.dashboard('GET', '/keys')).body;
    expect((await crowded.dashboard('DELETE', `/keys/${first.id}`)).status).toBe(200);
    expect((await make(['read'], 'one more', crowded)).status).toBe(201);
  });

  it('is deleted once, refused from then on, and leaves the main key and the others alone', async () => {
    const doomed = (await make(['notify'])).body;
    const kept = (await make(['notify'])).body;
    expect((await withKey(doomed.key, 'POST', '/notify', inApp)).status).toBe(202);
    const { status, body } = await tenant.dashboard('DELETE', `/keys/${doomed.id}`);
    expect([status, typeof body.message]).toEqual([200, 'string']);
    expect((await withKey(doomed.key, 'POST', '/notify', inApp)).status).toBe(401);
    expect((await withKey(kept.key, 'POST', '/notify', inApp)).status).toBe(202);
    expect((await tenant.notify(inApp)).status).toBe(202);
    expect((await tenant.dashboard('DELETE', `/keys/${doomed.id}`)).body.code).toBe('NOT_FOUND');
  });

  it('of another tenant reads as none, in list and in deletion alike', async () => {
    const { id } = (await make(['read'])).body;
    const theirs = await other.dashboard('DELETE', `/keys/${id}`);
    const none = await other.dashboard('DELETE', '/keys/key_00000000000000000000000000');
    expect([theirs.status, theirs.body.error]).toEqual([none.status, none.body.error]);
    expect(theirs.status).toBe(404);
    expect((await other.dashboard('GET', '/keys')).body).toEqual([]);
  });

  it('makes, lists and ends no keys itself', async () => {
    const { key } = (await make(['notify', 'inbox', 'read'])).body;
    for (const [method, path] of [
      ['GET', '/keys'],
      ['POST', '/keys'],
      ['DELETE', '/keys/key_1'],
      ['GET', '/tenant'],
      ['GET', '/providers'],
    ] as const)
      expect([path, (await withKey(key, method, path)).status]).toEqual([path, 401]);
  });

  it('is listed with its last use', async () => {
    const { id } = (await make(['notify'])).body;
    const at = Date.parse('2027-01-31T09:00:00.123Z');
    await app.deps.settings.noteKeyUses([{ tenantId: tenant.id as never, id, at }]);
    const { body } = await tenant.dashboard('GET', '/keys');
    expect(body.find((one: { id: string }) => one.id === id).lastUsedAt).toBe('2027-01-31T09:00:00.123Z');
  });

  it('is on record with who made and ended it, not with the key', async () => {
    const changes: unknown[] = [];
    const stop = app.deps.log.tail(['notifications.settings'], ({ event }) => changes.push(event));
    const { id, key } = (await make(['read'])).body;
    await tenant.dashboard('DELETE', `/keys/${id}`);
    stop();
    const record = { type: 'SettingsChanged', subject: 'key', subjectId: id, actor: 'keys-owner' };
    expect(changes).toMatchObject([
      { ...record, action: 'created' },
      { ...record, action: 'deleted' },
    ]);
    expect(JSON.stringify([changes, app.lines])).not.toContain(key);
  });
});

describe('the scopes of a key', () => {
  const calls: [string, string, unknown, string[]][] = [
    ['POST', '/notify', inApp, ['notify']],
    ['GET', '/notify/notif_00000000000000000000000000', undefined, ['notify', 'read']],
    ['GET', '/notify/inapp/ada', undefined, ['inbox']],
    ['POST', '/notify/inapp/ada/read', undefined, ['inbox']],
    ['GET', '/templates', undefined, ['read']],
    ['GET', '/notifications', undefined, ['read']],
    ['GET', '/notifications/notif_00000000000000000000000000', undefined, ['read']],
    ['GET', '/notifications/notif_00000000000000000000000000/attempts', undefined, ['read']],
    ['GET', '/dashboard/stats', undefined, ['read']],
  ];

  it.each(['notify', 'inbox', 'read'])(
    '%s lets in where it should, and nowhere else: 403 that names what is missing',
    async (scope) => {
      const { key } = (await make([scope])).body;
      for (const [method, path, sent, needed] of calls) {
        const { status, body } = await withKey(key, method, path, sent);
        if (needed.includes(scope)) expect([path, [200, 202, 404].includes(status)]).toEqual([path, true]);
        else {
          expect([path, status, body.code]).toEqual([path, 403, 'FORBIDDEN']);
          for (const name of needed) expect(body.error).toContain(name);
        }
      }
      const { status } = await withKey(key, 'HEAD', '/notify/inapp/ada/stream');
      expect(status).toBe(scope === 'inbox' ? 200 : 403);
    },
  );

  it('of the main key are notify and inbox, as it always was', async () => {
    for (const [method, path, sent, needed] of calls) {
      const { status } = await tenant.withKey(method, path, sent);
      const isIn = needed.includes('notify') || needed.includes('inbox');
      expect([path, status === 403]).toEqual([path, !isIn]);
    }
  });

  it('are looked at before the limit and the body, so that a refusal costs nothing', async () => {
    const { key } = (await make(['read'])).body;
    const refused = await app.call('POST', '/api/v1/notify', { 'x-api-key': key, 'content-type': 'text/plain' }, 'x');
    expect([refused.status, refused.headers.get('ratelimit')]).toEqual([403, null]);
  });

  it('read shows what the dashboard shows of its own tenant, and a token beside it decides', async () => {
    const { key } = (await make(['read'])).body;
    const theirs = (await make(['read'], 'theirs', other)).body.key;
    const { body } = await tenant.notify(inApp);
    const shown = await until(
      async () => {
        const answer = await withKey(key, 'GET', `/notifications/${body.notificationId}`);
        return answer.status === 200 && answer;
      },
      { what: 'the record' },
    );
    expect(shown.body.notification.id).toBe(body.notificationId);
    expect((await withKey(theirs, 'GET', `/notifications/${body.notificationId}`)).status).toBe(404);
    const both = { 'x-api-key': theirs, authorization: `Bearer ${tenant.token}` };
    expect((await app.call('GET', `/api/v1/notifications/${body.notificationId}`, both)).status).toBe(200);
    const badToken = { 'x-api-key': key, authorization: 'Bearer nonsense' };
    expect((await app.call('GET', '/api/v1/notifications', badToken)).status).toBe(401);
    const neither = await app.call('GET', '/api/v1/notifications', {});
    expect([neither.status, neither.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });
});

describe('an API key that is no key', () => {
  it.each(['', 'nk_', `nk_${'a'.repeat(38)}`, 'x'.repeat(10_000), "' OR 1=1 --", '{"$ne":null}', '__proto__'])(
    'is refused whatever it looks like: %#',
    async (given) => {
      const { status, body } = await withKey(given, 'POST', '/notify', inApp);
      expect([status, body.code]).toEqual([401, 'UNAUTHORIZED']);
    },
  );

  it('is one with a typing error too', async () => {
    const { key } = (await make(['notify'])).body;
    const wrong = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
    expect((await withKey(wrong, 'POST', '/notify', inApp)).status).toBe(401);
  });
});
