// What was refused of a tenant: in its log line, by GET /refusals, and which claim of a token is wrong.

import { afterEach, describe, expect, it } from '@jest/globals';

import { createRefusals, fieldsOf, refusalsMax } from '../../src/api/refusals.ts';
import type { Refusal } from '../../src/api/refusals.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { App, AppOptions } from '../support/app.ts';
import { startApp } from '../support/app.ts';

let app: App | null = null;

const start = async (options: AppOptions = {}): Promise<App> => {
  app = await startApp({ delivers: false, ...options });
  return app;
};

afterEach(async () => {
  await app?.close();
  app = null;
});

describe('GET /refusals', () => {
  it('tells a tenant what of its requests was refused, newest first, and nobody else', async () => {
    const { tenant } = await start({ options: { rateLimit: { limit: 2, windowMs: 60_000 } } });
    const [a, b] = [await tenant('a'), await tenant('b')];
    const replies = [
      await a.notify({ channel: 'SMS', recipient: 'ada', body: 7 }),
      await a.notify('{', { 'content-type': 'application/json' }),
      await a.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x' }),
      await a.dashboard('POST', '/templates', { name: 'no channel' }),
      await a.dashboard('DELETE', '/keys/key_none'),
    ];
    expect(replies.map(({ status }) => status)).toEqual([400, 400, 429, 400, 404]);
    // Of what only reads nothing is kept.
    expect((await a.dashboard('GET', '/notifications?limit=0')).status).toBe(400);
    const { body } = await a.dashboard('GET', '/refusals');
    expect(body.nextCursor).toBeNull();
    expect(body.data.map(({ route, status, code }: Refusal) => [route, status, code])).toEqual([
      ['DELETE /keys/:id', 404, 'NOT_FOUND'],
      ['POST /templates', 400, 'BAD_REQUEST'],
      ['POST /notify', 429, 'TOO_MANY_REQUESTS'],
      ['POST /notify', 400, 'BAD_REQUEST'],
      ['POST /notify', 400, 'BAD_REQUEST'],
    ]);
    expect(body.data.at(-1).fields).toEqual(['body']);
    expect(body.data.map(({ requestId }: Refusal) => requestId)).toEqual(
      replies.toReversed().map((reply) => reply.body.requestId),
    );
    expect((await b.dashboard('GET', '/refusals')).body.data).toEqual([]);
  });

  it('has what its log lines have: code, fields and request id', async () => {
    const { tenant, lines } = await start();
    const a = await tenant('a');
    const { body } = await a.notify({ channel: 'FAX' });
    const line = lines.find(({ message, fields }) => message === 'request' && fields['requestId'] === body.requestId);
    const [refusal] = (await a.dashboard('GET', '/refusals')).body.data;
    expect(line?.fields).toMatchObject({ status: 400, code: 'BAD_REQUEST', fields: refusal.fields });
    expect(refusal.fields).toContain('channel');
  });
});

describe('refusals in memory', () => {
  const refusal = (requestId: string): Refusal => ({
    at: 0,
    route: 'POST /notify',
    status: 400,
    code: 'BAD_REQUEST',
    fields: [],
    requestId,
  });

  it('are the last hundred of a tenant, and of many tenants those who were refused last', () => {
    const refusals = createRefusals({ inAllMax: 2 * refusalsMax });
    const note = (tenant: string, times: number) => {
      for (let i = 0; i < times; i++) refusals.note(tenant as TenantId, refusal(`${tenant}${i}`));
    };
    const kept = () => ['a', 'b', 'c'].map((tenant) => refusals.of(tenant as TenantId).length);
    note('a', refusalsMax + 50);
    note('b', refusalsMax);
    expect(kept()).toEqual([refusalsMax, refusalsMax, 0]);
    expect(refusals.of('a' as TenantId).at(0)?.requestId).toBe(`a${refusalsMax + 49}`);
    note('c', 1);
    expect(kept()).toEqual([0, refusalsMax, 1]);
    note('a', 2 * refusalsMax);
    expect(kept()).toEqual([refusalsMax, 0, 1]);
  });

  it('name few fields, each cut', () => {
    const details = Array.from({ length: 50 }, (_, i) => ({ path: `${i}${'x'.repeat(500)}`, message: 'm' }));
    const fields = fieldsOf(details);
    expect(fields).toHaveLength(10);
    expect(fields.every((field) => field.length === 64)).toBe(true);
  });
});
