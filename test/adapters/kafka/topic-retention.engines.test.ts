// Topics that would lose events by settings of their own: set right at the start and ever after, and told where that is not allowed.

import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import kafkajs, { type Admin } from 'kafkajs';

import { defaultPartitioning, settingsTopic, workTopic } from '../../../src/domain/topics.ts';
import type { Metrics } from '../../../src/ports/metrics.ts';
import { authorizing, grantAll, refuseChanges } from '../../support/authorizing-kafka.ts';
import type { OwnKafka } from '../../support/engine-control.ts';
import { startOwnKafka } from '../../support/engine-control.ts';
import { until } from '../../support/until.ts';
import { clock, type LogWorld, makeLogWorld } from './log-world.ts';

jest.setTimeout(90_000);

const bulk = workTopic('EMAIL', 'BULK');
const shape = { partitioning: defaultPartitioning, topics: [bulk, settingsTopic], groups: [] };
const dayMs = 24 * 60 * 60 * 1000;
const sevenDays = String(7 * dayMs);
/** A look follows the one before at once. */
const impatient = {
  ...clock,
  sleep: (ms: number, signal?: AbortSignal) => clock.sleep(Math.min(ms, 100), signal),
};

/** The looks that follow the first are taken when they are asked for. */
function stepped() {
  let step = Promise.withResolvers<void>();
  return {
    clock: {
      ...clock,
      sleep: (ms: number, signal?: AbortSignal) => (ms < 30_000 ? clock.sleep(ms, signal) : step.promise),
    },
    next() {
      const { resolve } = step;
      step = Promise.withResolvers<void>();
      resolve();
    },
  };
}

const worlds: LogWorld[] = [];
const makeWorld = (...of: Parameters<typeof makeLogWorld>) => {
  const world = makeLogWorld(...of);
  worlds.push(world);
  return world;
};
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.remove();
});

async function withAdmin<T>(world: LogWorld, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = world.kafka.admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** As another program would make it, before there is a log. */
function premade(world: LogWorld, topic: string, settings: Readonly<Record<string, string>>): Promise<unknown> {
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  const made = { topic: world.settings.prefix + topic, numPartitions: 12, configEntries };
  return withAdmin(world, (admin) => admin.createTopics({ topics: [made], waitForLeaders: false }));
}

async function settingsOf(world: LogWorld, topic: string): Promise<Readonly<Record<string, string>>> {
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: world.settings.prefix + topic }];
  // A topic that was just made isn't known to every broker yet.
  const { resources: told } = await withAdmin(world, (admin) =>
    until(() => admin.describeConfigs({ resources, includeSynonyms: false }).catch(() => false as const), {
      what: 'the settings',
    }),
  );
  return Object.fromEntries((told[0]?.configEntries ?? []).map((entry) => [entry.configName, entry.configValue]));
}

function change(world: LogWorld, topic: string, settings: Readonly<Record<string, string>>): Promise<unknown> {
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: world.settings.prefix + topic, configEntries }];
  return withAdmin(world, (admin) => admin.alterConfigs({ validateOnly: false, resources }));
}

/** The gauges, to be read. */
function measured() {
  const gauges = new Map<string, () => number>();
  const metrics = {
    increment() {},
    observe() {},
    gauges() {},
    gauge: (name: string, read: () => number, labels = {}) =>
      void gauges.set([name, ...Object.values(labels)].join(' '), read),
  } as Metrics;
  return { metrics, read: (name: string) => gauges.get(name)?.() };
}

const keepsAll = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' };

describe('a topic that was made beforehand', () => {
  it('with 7 days keeps its events from the start on, in a line, and its other settings stay', async () => {
    const world = makeWorld();
    await premade(world, bulk, { 'retention.ms': sevenDays, 'max.message.bytes': '3000000' });
    const log = await world.open({ shape });
    expect(await settingsOf(world, bulk)).toMatchObject({ ...keepsAll, 'max.message.bytes': '3000000' });
    expect(log.losing()).toBeNull();
    const said = world.lines.filter(({ message }) => message.includes('set right'));
    const name = world.settings.prefix + bulk;
    expect(said).toMatchObject([
      { level: 'warn', fields: { topics: [{ name, settings: { 'retention.ms': sevenDays } }] } },
    ]);
  });

  it("by the broker's defaults does too, whatever they are", async () => {
    const world = makeWorld();
    await premade(world, bulk, {});
    expect(Number((await settingsOf(world, bulk))['retention.ms'])).toBeGreaterThan(0);
    await world.open({ shape });
    expect(await settingsOf(world, bulk)).toMatchObject(keepsAll);
  });

  it('that is compacted, or bounded by its bytes, does too', async () => {
    const world = makeWorld();
    await premade(world, bulk, { 'cleanup.policy': 'compact,delete', 'retention.bytes': '1000000' });
    await world.open({ shape });
    expect(await settingsOf(world, bulk)).toMatchObject(keepsAll);
  });

  it('with longer than anything waits is left as it is, but where suppressions and erasures are folded from', async () => {
    const world = makeWorld();
    const long = { 'retention.ms': String(365 * dayMs) };
    await premade(world, bulk, long);
    await premade(world, settingsTopic, long);
    await world.open({ shape });
    expect(await settingsOf(world, bulk)).toMatchObject(long);
    expect(await settingsOf(world, settingsTopic)).toMatchObject(keepsAll);
  });
});

describe('a topic whose retention is changed later', () => {
  it('is set right at the next look', async () => {
    const world = makeWorld();
    const log = await world.open({ shape, clock: impatient, topicRetention: 'followed' });
    await change(world, bulk, { 'retention.ms': sevenDays });
    await until(() => world.lines.some(({ message }) => message.includes('set right')), { what: 'the line' });
    expect(await settingsOf(world, bulk)).toMatchObject(keepsAll);
    expect(log.losing()).toBeNull();
  });
});

describe('where Herald may not change its topics', () => {
  let kafka: OwnKafka;
  beforeAll(async () => {
    kafka = await startOwnKafka({ brokers: 1, conf: authorizing });
  }, 120_000);
  afterAll(() => kafka?.stop(), 60_000);

  it('a start is told not to be ready, by a sentence that names topic and setting, until somebody has set it right', async () => {
    const world = makeWorld({ brokers: kafka.brokers });
    await premade(world, bulk, { 'retention.ms': sevenDays });
    const name = world.settings.prefix + bulk;
    await withAdmin(world, (admin) => grantAll(admin, name));
    const grant = await withAdmin(world, (admin) => refuseChanges(admin, name));
    const { metrics, read } = measured();
    const log = await world.open({ shape, clock: impatient, metrics, topicRetention: 'followed' });
    expect(log.losing()).toBe(
      `topic ${name} loses events by its retention.ms=${sevenDays}, which may not be changed: TOPIC_AUTHORIZATION_FAILED`,
    );
    expect(read('herald_topics losing')).toBe(1);
    const said = () => world.lines.filter(({ message }) => message === 'topics lose events by their own settings');
    expect(said()).toHaveLength(1);
    await withAdmin(world, grant);
    await until(() => log.losing() === null, { what: 'it to be set right' });
    expect(await settingsOf(world, bulk)).toMatchObject(keepsAll);
    expect(read('herald_topics losing')).toBe(0);
    expect(said()).toHaveLength(1);
  });

  it('a process that was at work goes on, and says so in a line and a metric', async () => {
    const world = makeWorld({ brokers: kafka.brokers });
    const name = world.settings.prefix + bulk;
    const { metrics, read } = measured();
    const looks = stepped();
    const log = await world.open({ shape, clock: looks.clock, metrics, topicRetention: 'followed' });
    await withAdmin(world, (admin) => grantAll(admin, name));
    await change(world, bulk, { 'retention.ms': sevenDays });
    await withAdmin(world, (admin) => refuseChanges(admin, name));
    looks.next();
    await until(() => read('herald_topics losing') === 1, { what: 'the look' });
    expect(world.lines.at(-1)).toMatchObject({
      level: 'error',
      message: 'topics lose events by their own settings',
      fields: { topics: [{ name, settings: { 'retention.ms': sevenDays }, why: 'TOPIC_AUTHORIZATION_FAILED' }] },
    });
    expect(log.losing()).toBeNull();
  });
});
