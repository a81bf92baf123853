// Kafka and MongoDB that aren't for one another: a start that finds it stops with a sentence, and goes on once a person has seen to it.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';

import type { DataDir, Environment } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import { herald as command, startHerald } from '../../support/herald.ts';
import { deliverAll } from '../../support/installations.ts';
import { allRecords } from '../../support/records.ts';
import { until } from '../../support/until.ts';

let one: DataDir;
let other: DataDir;
const secret = { ENCRYPTION_SECRET: 'the encryption secret of both, of more than 32 characters' };

beforeAll(async () => {
  [one, other] = [await makeDataDir('real'), await makeDataDir('real')];
  await Promise.all([run(one, {}, ['ada', 'bob']), run(other, {}, ['eve'])]);
}, 180_000);
afterAll(async () => {
  await Promise.all([one.remove(), other.remove()]);
}, 60_000);

/** Starts, sends, waits for the deliveries, and stops; resolves with the recipients of all records. */
async function run(dataDir: DataDir, more: Environment, recipients: readonly string[]): Promise<string[]> {
  const service = await startHerald(dataDir, { ...secret, ...more });
  await deliverAll(service, recipients);
  const records = await allRecords(service);
  await service.stop();
  return records.map((record) => String(record['recipient'])).sort();
}

async function sentence(more: Environment): Promise<string> {
  const environment = { PORT: '0', OPS_PORT: '0', ...one.environment, ...secret, ...more };
  const { stderr, code } = await command(['serve'], environment);
  expect([code, stderr]).toEqual([1, expect.not.stringMatching(/^\s+at /m)]);
  return stderr.trim().split('\n').at(-1) ?? '';
}

const databaseOf = ({ environment }: DataDir, suffix = '') =>
  String(environment['MONGODB_URL']).replace(/(\/[^/?]+)(\?|$)/, `$1${suffix}$2`);

it("another Herald's database is refused", async () => {
  const told = await sentence({ MONGODB_URL: databaseOf(other) });
  expect(told).toContain('the database of MONGODB_URL holds the settings of another log');
});

it('an empty database is refused under a log that had settings', async () => {
  const told = await sentence({ MONGODB_URL: databaseOf(one, 'empty') });
  expect(told).toContain('the database of MONGODB_URL holds no settings of the log');
});

it('another secret is refused', async () => {
  const told = await sentence({ ENCRYPTION_SECRET: 'another encryption secret, of more than 32 characters as well' });
  expect(told).toContain('ENCRYPTION_SECRET is not the one that sealed the settings');
});

it('a topic that was deleted is refused, though a start has made it again, and goes on by a decision', async () => {
  const brokers = String(one.environment['KAFKA_BROKERS']).split(',');
  const topic = `${one.environment['KAFKA_PREFIX']}notifications.deliveries`;
  const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [topic] });
  await until(async () => !(await admin.listTopics()).includes(topic), { what: 'the topic to be gone' });
  await admin.disconnect();
  for (let starts = 0; starts < 2; starts++)
    expect(await sentence({})).toContain(`The topic ${topic} was deleted and made again`);
  expect((await command(['adopt'], { ...one.environment, ...secret })).code).toBe(0);
  expect(await run(one, {}, ['dan'])).toEqual(['ada', 'bob', 'dan']);
}, 180_000);

it("by a decision the log goes on with another Herald's settings, and all is folded from it", async () => {
  const more = { ...secret, MONGODB_URL: databaseOf(other) };
  const { code, stdout } = await command(['adopt'], { ...one.environment, ...more });
  expect([code, stdout]).toEqual([0, expect.stringContaining('are for one another from now on')]);
  // Of the demo tenant that the settings have: what the log has of others is nobody's.
  expect(await run(one, more, ['gil'])).toEqual(['gil']);
}, 180_000);
