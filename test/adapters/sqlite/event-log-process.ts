// A process of its own that appends without end and prints each offset once it is durable, to be killed by a test.

import { openEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { allTopics, defaultPartitioning } from '../../../src/domain/topics.ts';
import { requested } from '../../support/requested.ts';
import { wallClock } from '../../support/wall-clock.ts';

const [, , path = ''] = process.argv;
const logger = { debug() {}, info() {}, warn() {}, error: console.error };
const log = openEventLog({
  path,
  codec: createCodec(),
  clock: wallClock,
  logger,
  topics: allTopics,
  groups: [],
  partitioning: defaultPartitioning,
});

async function appendForever(caller: number): Promise<void> {
  for (let n = caller; ; n += 20) {
    const result = await log.append(requested(0, n));
    if (result.kind === 'durable') process.stdout.write(`${result.position.offset} ${n}\n`);
  }
}

for (let caller = 0; caller < 20; caller++) void appendForever(caller);
