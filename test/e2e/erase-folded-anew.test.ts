// Erasing a tenant while the service is down and its read models are lost: they are folded before it is said what goes and what is left.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir } from '../support/herald.ts';
import { herald, makeDataDir, startHerald } from '../support/herald.ts';

let dataDir: DataDir;

beforeAll(async () => {
  dataDir = await makeDataDir('embedded');
});
afterAll(() => dataDir.remove());

/** Two events each: a long log, whose records have no index until all are folded. */
const notifications = 5200;

it('waits for them, and finds nothing that is left', async () => {
  const service = await startHerald(dataDir);
  const item = JSON.stringify({ channel: 'IN_APP', recipient: 'ada', body: 'to be forgotten' });
  const headers = { 'content-type': 'application/x-ndjson', 'x-api-key': service.apiKey };
  const body = `${item}\n`.repeat(notifications);
  expect((await service.call('POST', '/api/v1/notify/batch', { headers, body })).body).toMatchObject({
    accepted: notifications,
  });
  const tenantId = String((await service.dashboard('GET', '/tenant')).body['id']);
  await service.stop();
  await dataDir.dropReadModels();

  const { code, stdout, stderr } = await herald(['erase', '--tenant', tenantId], dataDir.environment);
  expect(stderr).toContain("waiting: notifications_2 is folded from the log's beginning");
  expect([code, stdout]).toEqual([0, expect.stringContaining('Nothing of the tenant')]);
}, 120_000);
