// A read model that stands still in the running process: its line, its metrics and its readiness within 40 s, and all well again when it moves.

import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { readinessOf } from '../support/nodes.ts';
import { until } from '../support/until.ts';

let dataDir: DataDir;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir('embedded');
  service = await startHerald(dataDir);
}, 60_000);

afterAll(async () => {
  await service.stop();
  await dataDir.remove();
});

const metric = async (name: RegExp) => {
  const page = await (await fetch(`${service.operationsUrl}/metrics`)).text();
  return Number(new RegExp(`^${name.source} (\\S+)$`, 'm').exec(page)?.[1] ?? 'NaN');
};
/** A page may be made before a thread has said what it has, on a machine that has other work. */
const comesTo = (name: RegExp, isIt: (value: number) => boolean) =>
  until(async () => isIt(await metric(name)), { timeoutMs: 10_000, what: `what ${name.source} should be` });

it('views.db locked by another program: said within 40 s, counted, not ready; and ready again after', async () => {
  expect((await readinessOf(service.operationsUrl))?.status).toBe('ready');
  const other = new DatabaseSync(join(dataDir.path, 'views.db'), { timeout: 10_000 });
  other.exec('BEGIN IMMEDIATE');
  const { status } = await service.notify({ channel: 'IN_APP', recipient: 'ada', body: 'waits' });
  expect(status).toBe(202);
  const lockedAt = Date.now();
  const failing = await until(
    async () => {
      const readModels = (await readinessOf(service.operationsUrl))?.dependencies['readModels'];
      return readModels !== 'up' && readModels;
    },
    { timeoutMs: 20_000, what: 'the folds that fail' },
  );
  expect(failing).toMatch(/^down: \w+, number \d+: can't fold: .*locked/);
  const stopped = await until(
    async () => {
      const readiness = await readinessOf(service.operationsUrl);
      return readiness?.dependencies['progress'] !== 'up' && readiness;
    },
    { timeoutMs: 60_000, what: 'the watchdog' },
  );
  expect(Date.now() - lockedAt).toBeLessThan(45_000);
  expect(stopped).toMatchObject({
    status: 'not ready',
    dependencies: { progress: expect.stringMatching(/^down: .*projector-notifications_2 \d+.* stand still$/) },
  });
  await until(() => service.logs().includes('partition numbers stand still'), { what: 'the line' });
  await comesTo(/herald_stalls_total\{group="projector-notifications_2"\}/, (value) => value >= 1);
  // One number, and on a slow machine another one that had not been folded yet when the file was locked.
  await comesTo(/herald_standing_still\{group="projector-notifications_2"\}/, (value) => value >= 1);
  await comesTo(/herald_projector_lag\{read_model="notifications_2"\}/, (value) => value > 25);
  other.exec('ROLLBACK');
  other.close();
  await until(async () => (await readinessOf(service.operationsUrl))?.status === 'ready', {
    timeoutMs: 30_000,
    what: 'to be ready again',
  });
  await comesTo(/herald_standing_still\{group="projector-notifications_2"\}/, (value) => value === 0);
}, 120_000);
