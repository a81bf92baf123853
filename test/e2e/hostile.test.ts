// The service as it is shipped, under hostile requests all at once: the process that took them is the process that goes on.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { ambiguousRequests, hardlyHttp, rawPost, wrongBodies } from '../support/hostile.ts';
import { rawRequest } from '../support/raw-http.ts';

let dataDir: DataDir;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startHerald(dataDir, { RATE_LIMIT: '100000/10s' });
});
afterAll(async () => {
  await service.stop();
  await dataDir.remove();
});

it('gives no 5xx, no stack and no log line of a failure, and lives', async () => {
  const port = Number(new URL(service.url).port);
  const { apiKey } = service;
  const bodies = Object.values(wrongBodies).map((body) => {
    const bytes = Buffer.from(body);
    const head = rawPost(apiKey, ['Content-Type: application/json', `Content-Length: ${bytes.length}`]);
    return Buffer.concat([Buffer.from(head), bytes]);
  });
  const all = [
    ...bodies,
    ...Object.values(ambiguousRequests).map((make) => Buffer.from(make(apiKey))),
    ...Object.values(hardlyHttp).map(([bytes]) => Buffer.from(bytes, 'latin1')),
  ];
  expect(all.length).toBeGreaterThan(60);
  const answers = await Promise.all([...all, ...all].map((bytes) => rawRequest(port, bytes)));
  for (const { statuses, text } of answers) {
    expect(statuses.every((status) => status >= 400 && status < 500)).toBe(true);
    expect(text).not.toMatch(/\n\s+at |node_modules|\.ts:/);
  }
  const { status } = await service.notify({ channel: 'IN_APP', recipient: 'u', body: 'b' });
  expect([status, service.process.exitCode]).toEqual([202, null]);
  expect(service.logs()).not.toMatch(/"level":"(?:error|fatal)"|"level":[56]0/);
});
