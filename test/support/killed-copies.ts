// Copies of an embedded log into Kafka that don't come to their end: each is killed once the next thing has come to be on the brokers.

import { spawn, type SpawnOptionsWithStdioTuple, type StdioNull, type StdioPipe } from 'node:child_process';

import { type Admin, Kafka, logLevel } from 'kafkajs';

import { dispatcherGroup } from '../../src/dispatchers/dispatcher.ts';
import { deliveriesTopic, workTopic } from '../../src/domain/topics.ts';
import type { Environment } from './data-dir.ts';
import { heraldCommand, processEnvironment } from './herald.ts';
import { until } from './until.ts';

const stageMs = 60_000;

/** One is killed when it has begun, one and one more while the events come, and one once there are positions, before it has completed the log. */
export async function killCopies(environment: Environment): Promise<void> {
  const { KAFKA_BROKERS: brokers = '', KAFKA_PREFIX: prefix = '' } = environment;
  const admin = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    for (const isThere of [hasTopics, hasEvents(1), hasEvents(500), hasPositions])
      await killOnce(() => isThere(admin, prefix), environment);
  } finally {
    await admin.disconnect();
  }
}

async function killOnce(isThere: () => Promise<boolean>, environment: Environment): Promise<void> {
  const options: SpawnOptionsWithStdioTuple<StdioNull, StdioNull, StdioPipe> = {
    env: processEnvironment(environment),
    stdio: ['ignore', 'ignore', 'pipe'],
  };
  const child = spawn(process.execPath, [...heraldCommand, 'copy-log', '--to', 'kafka'], options);
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  try {
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`the copy ended before it was killed: ${child.exitCode}, ${told}`);
        // A topic that was just made has no leader yet.
        return isThere().catch(() => false);
      },
      { timeoutMs: stageMs, what: 'the copy to get so far' },
    );
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}

async function hasTopics(admin: Admin, prefix: string): Promise<boolean> {
  return (await admin.listTopics()).includes(prefix + deliveriesTopic);
}

function hasEvents(count: number) {
  return async (admin: Admin, prefix: string): Promise<boolean> => {
    const ends = await admin.fetchTopicOffsets(prefix + deliveriesTopic);
    return ends.reduce((events, { high }) => events + Number(high), 0) >= count;
  };
}

async function hasPositions(admin: Admin, prefix: string): Promise<boolean> {
  const topic = prefix + workTopic('EMAIL', 'HIGH');
  const found = await admin.fetchOffsets({ groupId: prefix + dispatcherGroup('EMAIL'), topics: [topic] });
  return found.some(({ partitions }) => partitions.some(({ offset }) => Number(offset) >= 0));
}
