// The rate limit, exactly: however parallel, and one tenant's limit is nobody else's.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Agent, request } from 'undici';

import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald, token } from '../support/herald.ts';

let dataDir: DataDir;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startHerald(dataDir);
});
afterAll(async () => {
  await service.stop();
  await dataDir.remove();
});

it('1,000 parallel requests of one tenant: exactly 100 accepted, the rest 429 with Retry-After; another tenant is not touched', async () => {
  const bearer = await token(dataDir, {}, ['--sub', 'other']);
  const other = await service.call('POST', '/api/v1/auth/provision-tenant', {
    headers: { authorization: `Bearer ${bearer}` },
  });
  const otherKey = (other.body['tenant'] as { apiKey: string }).apiKey;

  const agent = new Agent({ connections: 200 });
  const send = async (apiKey: string, i: number) => {
    const { statusCode, headers, body } = await request(`${service.url}/api/v1/notify`, {
      method: 'POST',
      dispatcher: agent,
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ channel: 'IN_APP', recipient: `user-${i}`, body: 'hi' }),
    });
    return { status: statusCode, headers, body: (await body.json()) as Record<string, unknown> };
  };
  const answers = await Promise.all(Array.from({ length: 1000 }, (_, i) => send(service.apiKey, i)));
  const others = await Promise.all(Array.from({ length: 100 }, (_, i) => send(otherKey, i)));
  await agent.close();

  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(100);
  expect(refused).toHaveLength(900);
  for (const { headers, body } of refused) {
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(10);
    expect(headers['ratelimit-policy']).toBe('"default";q=100;w=10');
    expect(body).toMatchObject({ code: 'TOO_MANY_REQUESTS', details: [] });
  }
  expect(others.every(({ status }) => status === 202)).toBe(true);
  const remaining = answers
    .filter(({ status }) => status === 202)
    .map(({ headers }) => /r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);
  expect(new Set(remaining).size).toBe(100);
});
