// A projector whose MongoDB hangs with its connections open: it says that its numbers stand still, the processes of other roles don't, and all is well again after.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { FaultyProxy } from '../../support/faulty-proxy.ts';
import { startFaultyProxy } from '../../support/faulty-proxy.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import type { Node } from '../../support/nodes.ts';
import { readinessOf, startNode } from '../../support/nodes.ts';
import { recordOf } from '../../support/records.ts';
import { until } from '../../support/until.ts';

let dataDir: DataDir;
let proxy: FaultyProxy;
let service: Herald;
let projector: Node;

beforeAll(async () => {
  dataDir = await makeDataDir();
  const direct = new URL(dataDir.environment['MONGODB_URL'] ?? '');
  proxy = await startFaultyProxy({ target: direct.host });
  const through = new URL(direct);
  through.host = proxy.address;
  // The set's members name the server itself.
  through.search = 'directConnection=true';
  service = await startHerald(dataDir, {}, ['--role', 'api,dispatcher,scheduler']);
  projector = await startNode(dataDir, { MONGODB_URL: through.href }, ['--role', 'projector']);
}, 180_000);

afterAll(async () => {
  await projector.stop();
  await service.stop();
  await proxy.close();
  await dataDir.remove();
}, 120_000);

it('is said within 45 s by who has the role, and by nobody else; it is over when MongoDB answers', async () => {
  expect((await projector.readiness())?.dependencies['progress']).toBe('up');
  proxy.freeze();
  const frozenAt = Date.now();
  const { status, body } = await service.notify({ channel: 'IN_APP', recipient: 'ada', body: 'waits' });
  expect(status).toBe(202);
  const progress = await until(
    async () => {
      const readiness = await projector.readiness();
      return readiness !== null && readiness.dependencies['progress'] !== 'up' && readiness.dependencies['progress'];
    },
    { timeoutMs: 90_000, what: 'the watchdog' },
  );
  expect(progress).toMatch(/^down: .*projector-notifications .* stand still$/);
  expect(Date.now() - frozenAt).toBeLessThan(60_000);
  await until(() => projector.logs().includes('partition numbers stand still'), { what: 'the line' });
  expect((await readinessOf(service.operationsUrl))?.dependencies['progress']).toBe('up');
  proxy.mend();
  await until(async () => (await projector.readiness())?.status === 'ready', {
    timeoutMs: 60_000,
    what: 'the projector to be ready again',
  });
  const id = String(body['notificationId']);
  await until(async () => (await recordOf(service, id))?.status === 'DELIVERED', { timeoutMs: 30_000 });
}, 240_000);
