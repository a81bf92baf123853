// Failures of a cluster's engines, each behind a proxy that is as slow or as dead as the test says; one process, which is well again after each.

import kafkajs from 'kafkajs';

import { authorizing, grantAll, refuseChanges } from '../../support/authorizing-kafka.ts';
import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import { engines } from '../../support/engines.ts';
import type { FaultyProxy } from '../../support/faulty-proxy.ts';
import { startFaultyProxy } from '../../support/faulty-proxy.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import { startProxiedKafka } from '../../support/proxied-kafka.ts';
import type { Page } from './scrape.ts';
import { scrape, sumOf } from './scrape.ts';
import type { Failure } from './stage.ts';
import { scraped } from './stage.ts';

const { ConfigResourceTypes, Kafka, logLevel } = kafkajs;

export interface Cluster {
  readonly service: Herald;
  readonly kafka: FaultyProxy;
  readonly mongo: FaultyProxy;
  readonly redis: FaultyProxy;
  /** What its topics are called before their names. */
  readonly prefix: string;
  close(): Promise<void>;
}

export async function startCluster(): Promise<Cluster> {
  const { mongoUrl, redisUrl } = engines();
  const dataDir: DataDir = await makeDataDir('real');
  const own = await startProxiedKafka(authorizing);
  const mongo = await startFaultyProxy({ target: new URL(mongoUrl).host });
  const redis = await startFaultyProxy({ target: new URL(redisUrl).host });
  const database = new URL(dataDir.environment['MONGODB_URL'] ?? '').pathname;
  const service = await startHerald(dataDir, {
    KAFKA_BROKERS: own.proxy.address,
    MONGODB_URL: `mongodb://${mongo.address}${database}?directConnection=true`,
    REDIS_URL: `redis://${redis.address}`,
  });
  return {
    service,
    kafka: own.proxy,
    mongo,
    redis,
    prefix: dataDir.environment['KAFKA_PREFIX'] ?? '',
    async close() {
      await service.kill();
      await Promise.all([own.stop(), mongo.close(), redis.close()]);
      await dataDir.remove();
    },
  };
}

type ClusterFailure = Omit<Failure, 'run'> & { run(cluster: Cluster): ReturnType<Failure['run']> };

/** A round trip takes twice as long; an append is over a second and has its answer before it is sent again. */
const slowMs = 700;
/** Of an append that others wait for: over the 1.5 s from which that is told. */
const slowerMs = 1100;
const inApp = { channel: 'IN_APP', recipient: 'ada', body: 'Hello' };

export const failingCluster: readonly ClusterFailure[] = [
  {
    what: 'Redis is away',
    fires: ['HeraldRedisDown'],
    async run({ service, redis }) {
      const before = await scraped(service, (page) => sumOf(page, 'herald_redis_up') === 1, 'Redis');
      redis.cut();
      const failing = await scraped(service, (page) => sumOf(page, 'herald_redis_up') === 0, 'Redis to be away');
      redis.mend();
      return { before, failing };
    },
  },
  {
    what: 'the store of Idempotency-Keys is slow',
    fires: ['HeraldAcceptsSlow'],
    async run({ service, mongo }) {
      await accepted(service, 'a');
      const before = await scrape(service);
      mongo.delay(slowMs);
      await accepted(service, 'b');
      const failing = await counted(service, before);
      mongo.delay(0);
      return { before, failing };
    },
  },
  {
    what: 'the brokers are slow',
    fires: ['HeraldAcceptsSlow', 'HeraldAppendsSlow'],
    async run({ service, kafka }) {
      await accepted(service);
      const before = await scrape(service);
      kafka.delay(slowMs);
      await accepted(service);
      const failing = await counted(service, before);
      kafka.delay(0);
      return { before, failing };
    },
  },
  {
    what: 'the brokers are slow, and batches come all the same',
    fires: ['HeraldAppendsSlow', 'HeraldBatchesWait'],
    async run({ service, kafka }) {
      await batch(service, 100);
      const before = await scrape(service);
      kafka.delay(slowerMs);
      // As many as have a place for their answers at once, one after another. Two go at a time, each for over 2 x 1100 ms, and the others wait for them.
      const seen = new AbortController();
      const batches = Array.from({ length: 4 }, async () => {
        while (!seen.signal.aborted) await batch(service, 100);
      });
      const wait = (page: Page) => sumOf(page, 'herald_batch_wait_seconds');
      // Those of the first batch's deliveries may have been quick.
      const slow = (page: Page) =>
        sumOf(page, 'herald_append_seconds_count') - sumOf(page, 'herald_append_seconds_bucket', 'le="1"');
      const areWaiting = (page: Page) => wait(page) > 1.5 && slow(page) > slow(before);
      const failing = await scraped(service, areWaiting, 'batches that wait').finally(() => {
        seen.abort();
        kafka.delay(0);
      });
      await Promise.all(batches);
      return { before, failing };
    },
  },
  {
    what: 'a topic is given a retention of 7 days, and Herald may not change it',
    fires: ['HeraldTopicsLose'],
    async run({ service, kafka, prefix }) {
      const before = await scrape(service);
      const admin = new Kafka({ brokers: [kafka.address], logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      const topic = `${prefix}notifications.sms.bulk`;
      await grantAll(admin, topic);
      const entries = [{ name: 'retention.ms', value: '604800000' }];
      const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries: entries }];
      await admin.alterConfigs({ validateOnly: false, resources });
      const grant = await refuseChanges(admin, topic);
      const losing = (page: Page) => sumOf(page, 'herald_topics', 'state="losing"');
      const failing = await scraped(service, (page) => losing(page) > 0, 'the topic to be seen');
      await grant(admin);
      await scraped(service, (page) => losing(page) === 0, 'the topic to be set right');
      await admin.disconnect();
      return { before, failing };
    },
  },
  {
    what: 'the brokers do not answer, and appends pile up',
    fires: ['HeraldAppendQueueLong'],
    async run({ service, kafka }) {
      await accepted(service);
      const before = await scrape(service);
      kafka.freeze();
      const batches = Array.from({ length: 4 }, () => batch(service, 500));
      // Of its batches a tenant has two flushes of 500 under way at most.
      const single = Array.from({ length: 50 }, () =>
        service.call('POST', '/api/v1/notify', { body: inApp, headers: { 'x-api-key': service.apiKey } }),
      );
      const failing = await scraped(service, (page) => sumOf(page, 'herald_append_queue') > 1_000, 'appends that wait');
      kafka.mend();
      await Promise.all([...batches, ...single]);
      return { before, failing };
    },
  },
];

/** An answer is measured once it is written, which its client may have before. */
function counted(service: Herald, before: Page): Promise<Page> {
  const count = (page: Page) => sumOf(page, 'herald_accept_seconds_count');
  return scraped(service, (page) => count(page) > count(before), 'the answer to be measured');
}

/** 500 items are appended together at most. */
function batch(service: Herald, items: number): Promise<unknown> {
  const notifications = Array.from({ length: items }, () => inApp);
  return service.call('POST', '/api/v1/notify/batch', {
    body: { notifications },
    headers: { 'x-api-key': service.apiKey },
  });
}

async function accepted(service: Herald, idempotencyKey?: string): Promise<void> {
  const { status } = await service.call('POST', '/api/v1/notify', {
    body: inApp,
    headers: {
      'x-api-key': service.apiKey,
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
  });
  if (status !== 202) throw new Error(`it was answered with ${status}`);
}
