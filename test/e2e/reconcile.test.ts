// A history with a gap made on purpose: reconcile names what nobody would send, --repair has it sent once, and there is nothing to repair then.

import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { engineSet } from '../support/engine-set.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald, heraldUnread, makeDataDir, startHerald } from '../support/herald.ts';
import { recordOf, statisticsOf } from '../support/records.ts';
import { until } from '../support/until.ts';

let dataDir: DataDir;
let service: Herald | null = null;

beforeAll(async () => {
  dataDir = await makeDataDir();
});

afterAll(async () => {
  await service?.stop();
  await dataDir.remove();
});

async function restart(args: readonly string[] = []): Promise<Herald> {
  await service?.stop();
  service = await startHerald(dataDir, {}, args);
  return service;
}

async function send(running: Herald): Promise<string> {
  const { status, body } = await running.notify({ channel: 'IN_APP', recipient: 'ada', body: 'hi' });
  expect(status).toBe(202);
  return String(body['notificationId']);
}

const total = async (running: Herald, count: number) =>
  until(async () => (await statisticsOf(running))['total'] === count, { what: `${count} records` });

const reconcile = (...args: string[]) => herald(['reconcile', '--older-than', '0', ...args], dataDir.environment);

it('names what a dispatcher has passed over, has it delivered once, and finds nothing then', async () => {
  const whole = await restart();
  const delivered = await send(whole);
  await until(async () => (await recordOf(whole, delivered))?.status === 'DELIVERED');
  // Nobody dispatches; then the dispatcher's position is put behind all that waits, as an error in a consumer would.
  const idle = await restart(['--role', 'api,projector,scheduler']);
  const skipped = [await send(idle), await send(idle)].toSorted();
  await total(idle, 3);
  await idle.stop();
  await passOver();
  const again = await restart();
  const later = await send(again);
  await until(async () => (await recordOf(again, later))?.status === 'DELIVERED');
  for (const id of skipped) expect(await recordOf(again, id)).toMatchObject({ status: 'QUEUED' });
  if (engineSet === 'embedded') await again.stop();

  const found = await reconcile();
  expect(found.code).toBe(1);
  const named = [...found.stdout.matchAll(/^lost: (\S+) of \S+: dispatcher-in-app has passed over/gm)];
  expect(new Set(named.map(([, id]) => id))).toEqual(new Set(skipped));
  expect(found.stdout).toMatch(/^all +4 +2 +0 +2 +0$/m);

  const repaired = await reconcile('--repair');
  expect(repaired.stdout).toMatch(/^taken up again: 2$/m);
  const last = engineSet === 'embedded' ? await restart() : again;
  for (const id of skipped) {
    await until(async () => (await recordOf(last, id))?.status === 'DELIVERED', { timeoutMs: 30_000 });
    expect(await recordOf(last, id)).toMatchObject({ attemptCount: 1 });
  }
  await total(last, 4);
  if (engineSet === 'embedded') await last.stop();
  const nothing = await reconcile('--repair', '--all');
  expect([nothing.code, nothing.stdout]).toEqual([
    0,
    expect.stringMatching(/^all +4 +4 +0 +0 +0\ntaken up again: 0$/m),
  ]);
}, 240_000);

it('repairs all of it also where nobody reads what it says', async () => {
  const idle = await restart(['--role', 'api,projector,scheduler']);
  const before = (await statisticsOf(idle))['total'];
  for (let i = 0; i < 20; i++) await send(idle);
  await total(idle, before + 20);
  await idle.stop();
  await passOver();
  const { code } = await heraldUnread(['reconcile', '--older-than', '0', '--repair'], dataDir.environment);
  expect(code).toBe(1);
  expect((await reconcile()).stdout).toMatch(/^all +\d+ +\d+ +20 +0 +0$/m);
}, 240_000);

/** While no dispatcher runs: its group's positions are the ends of what it reads. */
async function passOver(): Promise<void> {
  if (engineSet !== 'embedded') return passOverOnKafka();
  const db = new DatabaseSync(join(dataDir.path, 'log.db'));
  db.exec(`UPDATE commits SET "offset" = (SELECT count(*) FROM events AS e WHERE e.topic = commits.topic AND e."partition" = commits."partition")
    WHERE consumer_group = 'dispatcher-in-app'`);
  db.close();
}

async function passOverOnKafka(): Promise<void> {
  const { Kafka, logLevel } = await import('kafkajs');
  const { KAFKA_BROKERS: brokers = '', KAFKA_PREFIX: prefix = '' } = dataDir.environment;
  const admin = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  for (const priority of ['high', 'default', 'bulk']) {
    const topic = `${prefix}notifications.in-app.${priority}`;
    const ends = await admin.fetchTopicOffsets(topic);
    const partitions = ends.map(({ partition, high }) => ({ partition, offset: high }));
    await admin.setOffsets({ groupId: `${prefix}dispatcher-in-app`, topic, partitions });
  }
  await admin.disconnect();
}
