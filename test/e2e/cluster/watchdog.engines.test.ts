// What stands still in a cluster is said: by a projector whose MongoDB hangs with its connections open, and by whoever lives when the last dispatcher has died.

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
let dispatcher: Node;

beforeAll(async () => {
  dataDir = await makeDataDir();
  const direct = new URL(dataDir.environment['MONGODB_URL'] ?? '');
  proxy = await startFaultyProxy({ target: direct.host });
  const through = new URL(direct);
  through.host = proxy.address;
  // The set's members name the server itself.
  through.search = 'directConnection=true';
  service = await startHerald(dataDir, {}, ['--role', 'api,scheduler']);
  dispatcher = await startNode(dataDir, {}, ['--role', 'dispatcher']);
  projector = await startNode(dataDir, { MONGODB_URL: through.href }, ['--role', 'projector']);
}, 180_000);

afterAll(async () => {
  await projector.stop();
  await dispatcher.stop();
  await service.stop();
  await proxy.close();
  await dataDir.remove();
}, 120_000);

it('a number that is folded no more makes who has the role unready, and nobody else; it is over when MongoDB answers', async () => {
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
  expect(progress).toMatch(/^down: .*projector-notifications_2 .* stand still$/);
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

it('work that no dispatcher does is said by a process of other roles, which is as ready as before, until one is there again', async () => {
  await dispatcher.kill();
  const { status, body } = await service.notify({ channel: 'IN_APP', recipient: 'grace', body: 'waits' });
  expect(status).toBe(202);
  const standing = /^herald_standing_still\{group="dispatcher-in-app"\} [1-9]/m;
  await until(async () => standing.test(await (await fetch(`${service.operationsUrl}/metrics`)).text()), {
    timeoutMs: 60_000,
    what: 'the metric of who lives',
  });
  await until(() => service.logs().includes('"group":"dispatcher-in-app"'), { what: 'the line' });
  expect((await readinessOf(service.operationsUrl))?.status).toBe('ready');
  dispatcher = await startNode(dataDir, {}, ['--role', 'dispatcher']);
  const id = String(body['notificationId']);
  await until(async () => (await recordOf(service, id))?.status === 'DELIVERED', { timeoutMs: 30_000 });
  await until(async () => !standing.test(await (await fetch(`${service.operationsUrl}/metrics`)).text()), {
    timeoutMs: 30_000,
    what: 'the standstill to be over',
  });
}, 240_000);
