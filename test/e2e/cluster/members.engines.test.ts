// Members that join every group of a running Herald and leave it again, over and over, under load: nothing accepted is lost, nothing is sent twice.
// E2E_MOVES: how often, with 200 notifications each; 100 are 20,000 notifications and take some ten minutes.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';

import type { KafkaEventLog } from '../../../src/adapters/kafka/event-log.ts';
import { openKafkaEventLog } from '../../../src/adapters/kafka/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { dispatcherGroup } from '../../../src/dispatchers/dispatcher.ts';
import { channels, priorities } from '../../../src/domain/events.ts';
import { allTopics, defaultPartitioning, workTopic } from '../../../src/domain/topics.ts';
import { readModels } from '../../../src/projections/index.ts';
import { projectorGroup } from '../../../src/projections/projector.ts';
import type { ConsumeOptions } from '../../../src/ports/event-log.ts';
import { clock } from '../../adapters/kafka/log-world.ts';
import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { DeliveryWorld } from '../../support/delivery-world.ts';
import { startDeliveryWorld } from '../../support/delivery-world.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import { createPoster, inParallel } from '../../support/posting.ts';
import { allRecords, groupedBy, statisticsOf, withoutZeros } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const moves = Number(process.env['E2E_MOVES'] ?? '6');
const count = 200 * moves;
/** A member leaves again after so long at most: before, while and after the group has shared out. */
const stayMaxMs = 1_500;
/** Two session timeouts, and what a busy machine adds. */
const finishMs = 60_000 + count * 20;
/** Of a webhook's receiver: 32 in flight are 16 a second, fewer than are posted, so that much is read ahead and not committed when a number moves. */
const answerMs = 2_000;
/** So that the posting lasts about as long as the moves. */
const lanes = 10;
const pauseMs = 150;

const groups: readonly Pick<ConsumeOptions, 'group' | 'topics'>[] = [
  ...channels.map((channel) => ({
    group: dispatcherGroup(channel),
    topics: priorities.map((priority) => workTopic(channel, priority)),
  })),
  ...readModels.map(({ definition, topics }) => ({ group: projectorGroup(definition.name), topics })),
];

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const poster = createPoster();
/** How often each webhook came, by its path. */
const arrivals = new Map<string, number>();
let dataDir: DataDir;
let world: DeliveryWorld;
let herald: Herald;
let log: KafkaEventLog;

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld(({ path }, response) => {
    arrivals.set(path, (arrivals.get(path) ?? 0) + 1);
    setTimeout(() => response.writeHead(200).end(), answerMs);
  });
  herald = await startHerald(dataDir, world.environment);
  await world.configure(herald);
  log = await openLog(dataDir.environment);
}, 180_000);

afterAll(async () => {
  await poster.close();
  await log.close();
  await herald.stop();
  await world.close();
  await dataDir.remove();
}, 60_000);

describe('members that join and leave every group', () => {
  it('cost no notification, and repeat none', async () => {
    const accepted = new Map<string, string>();
    let isMoving = true;
    const posting = inParallel(requests(), lanes, async (request) => {
      if (isMoving) await sleep(pauseMs);
      const { status, id } = await poster.post(herald, request);
      expect(status).toBe(202);
      accepted.set(id ?? '', String(request['recipient']));
    });
    // Two at a time, so that a group goes on without having told everybody of each sharing out.
    await Promise.all([...groups, ...groups].map(joinAndLeave));
    isMoving = false;
    await posting;
    const isDone = async () => (await statisticsOf(herald)).statusCounts['DELIVERED'] === count;
    await until(isDone, { timeoutMs: finishMs, everyMs: 500, what: 'everything delivered' }).catch(() => {});

    const records = await allRecords(herald);
    const delivered = new Set(records.filter(({ status }) => status === 'DELIVERED').map(({ id }) => id));
    const lost = [...accepted.keys()].filter((id) => !delivered.has(id));
    const paths = [...accepted.values()].filter(isWebhook).map((recipient) => new URL(recipient).pathname);
    const unsent = paths.filter((path) => !arrivals.has(path));
    const repeated = [...arrivals.values()].filter((times) => times > 1).length;
    console.log(
      `${accepted.size} accepted over ${moves} joins and leaves in each of ${groups.length} groups: ${lost.length} not delivered, ` +
        `${records.length} records; of ${paths.length} webhooks ${unsent.length} never came and ${repeated} came again; ` +
        `${world.mail.mails.length} mails, ${world.sms.requests.length} SMS`,
    );
    expect({ accepted: accepted.size, lost, unsent }).toEqual({ accepted: count, lost: [], unsent: [] });
    // On a busy machine an attempt may time out though it arrived: it is made again, and its record says so.
    const attemptsOf = (channel: string) =>
      records.reduce((sum, record) => sum + (record.channel === channel ? record.attemptCount : 0), 0);
    expect(world.mail.mails.length - attemptsOf('EMAIL')).toBeLessThanOrEqual(0);
    expect(world.sms.requests.length - attemptsOf('SMS')).toBeLessThanOrEqual(0);
    expect([...arrivals.values()].reduce((sum, times) => sum + times, 0) - attemptsOf('WEBHOOK')).toBeLessThanOrEqual(
      0,
    );
    const { statusCounts } = await statisticsOf(herald);
    expect(withoutZeros(statusCounts)).toEqual(groupedBy(records, 'status'));
  }, 3_600_000);
});

async function joinAndLeave(of: Pick<ConsumeOptions, 'group' | 'topics'>): Promise<void> {
  for (let n = 0; n < moves / 2; n++) {
    const consumer = await log.consume({ ...of, owned() {}, lost() {} });
    await sleep(Math.random() * stayMaxMs);
    await consumer.stop();
    await sleep(Math.random() * stayMaxMs);
  }
}

function openLog(environment: Readonly<Record<string, string>>): Promise<KafkaEventLog> {
  const { KAFKA_BROKERS = '', KAFKA_PREFIX = '', SCHEMA_REGISTRY_URL: registryUrl = '' } = environment;
  return openKafkaEventLog({
    settings: {
      brokers: KAFKA_BROKERS.split(','),
      prefix: KAFKA_PREFIX,
      clientId: 'joining',
      tls: null,
      sasl: null,
      replication: null,
    },
    registryUrl,
    shape: { partitioning: defaultPartitioning, topics: allTopics, groups: [] },
    codec: createCodec(),
    clock,
    logger: silent,
  });
}

function isWebhook(recipient: string): boolean {
  return recipient.startsWith('http');
}

function requests(): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, i) => {
    const common = { priority: priorities[Math.floor(i / 4) % 3], body: `Your order ${i} is on its way` };
    switch (i % 4) {
      case 0:
        return { ...common, channel: 'EMAIL', recipient: `customer-${i}@example.com`, subject: `Order ${i}` };
      case 1:
        return { ...common, channel: 'SMS', recipient: `+1555${String(i).padStart(7, '0')}` };
      case 2:
        return { ...common, channel: 'IN_APP', recipient: `user-${i % 200}` };
      default:
        return { ...common, channel: 'WEBHOOK', recipient: `${world.webhooks.url}/order-${i}` };
    }
  });
}
