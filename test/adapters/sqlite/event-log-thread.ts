// A worker thread on the log's connection: tells the test what it takes, and appends what it is told to.

import { parentPort, workerData } from 'node:worker_threads';

import { connectEventLog } from '../../../src/adapters/sqlite/event-log/connected.ts';
import type { SharedEventLog } from '../../../src/adapters/sqlite/event-log/shared.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { workTopic } from '../../../src/domain/topics.ts';
import type { Claim } from '../../../src/ports/event-log.ts';
import { requested } from '../../support/requested.ts';
import { wallClock } from '../../support/wall-clock.ts';

const { log: shared } = workerData as { log: SharedEventLog };
const high = workTopic('EMAIL', 'HIGH');
const logger = { debug() {}, info() {}, warn() {}, error: console.error };
const log = await connectEventLog(shared, { codec: createCodec(), clock: wallClock, logger });

async function take(claim: Claim): Promise<void> {
  const reader = claim.read(new Map([[high, claim.committed.get(high)?.offset ?? 0]]));
  while (!claim.signal.aborted) {
    for (const { event, offset } of await reader.take({ eventsMax: 100, bytesMax: 100_000 })) {
      if (event?.type === 'NotificationRequested') parentPort?.postMessage({ taken: Number(event.recipient) }, []);
      await claim.commit([{ topic: high, offset: offset + 1, metadata: '' }]);
    }
  }
}

await log.consume({ group: 'projector-inbox', topics: [high], owned: (claim) => void take(claim), lost() {} });
parentPort?.on('message', (n: number) => {
  void log.append(requested(n % 12, n)).then((result) => parentPort?.postMessage({ appended: result.kind }, []));
});
