// The dashboard's streams of two tenants, one of them at its worst: the other one is told of its own at once, and its streams go on.

import { beforeEach, expect, it } from '@jest/globals';

import { createThreadTurns } from '../../src/adapters/node/thread-turns.ts';
import { createDashboardStreams } from '../../src/api/dashboard-stream.ts';
import type { EventStream } from '../../src/api/event-stream.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { Topic } from '../../src/domain/topics.ts';
import { defaultPartitioning, partitionsOfTenant, workTopic } from '../../src/domain/topics.ts';
import type { LogEntry } from '../../src/ports/event-log.ts';
import { requested } from '../support/requested.ts';
import { until } from '../support/until.ts';
import { wallClock } from '../support/wall-clock.ts';

const topic = workTopic('EMAIL', 'HIGH');
const flooder = 'tnt_flooder' as TenantId;
const [flooded = 0] = partitionsOfTenant(flooder, defaultPartitioning);
const quiet = Array.from({ length: 100 }, (_, n) => `tnt_quiet${n}` as TenantId).find(
  (tenantId) => !partitionsOfTenant(tenantId, defaultPartitioning).includes(flooded),
) as TenantId;
const [calm = 0] = partitionsOfTenant(quiet, defaultPartitioning);

let append: (entry: LogEntry) => void;
let changed: () => void;
let folded: Map<number, ReadonlyMap<Topic, number>>;
let looks: number;
let streams: ReturnType<typeof createDashboardStreams>;
let said: string[];

beforeEach(() => {
  folded = new Map();
  said = [];
  looks = 0;
  const silent = (): void => undefined;
  const none = { get: silent, find: silent, count: silent } as unknown as Parameters<
    typeof createDashboardStreams
  >[0]['reader'];
  streams = createDashboardStreams({
    log: {
      partitioning: defaultPartitioning,
      tail(_, listener) {
        append = listener;
        return silent;
      },
      async *read() {},
      ends: async () => Array.from({ length: defaultPartitioning.partitions }, () => 0),
    },
    reader: {
      ...none,
      async positions(_, partition) {
        looks++;
        return folded.get(partition) ?? new Map();
      },
      ahead: async () => null,
      onChange(_, listener) {
        changed = listener;
        return silent;
      },
    },
    turns: createThreadTurns({ gauges: silent }),
    logger: { debug: silent, info: silent, warn: (message) => void said.push(message), error: silent },
    clock: wallClock,
  } satisfies Parameters<typeof createDashboardStreams>[0]);
});

/** A stream that takes a while for each message, as a socket does. */
async function open(tenantId: TenantId): Promise<{ readonly told: () => number; readonly hasEnded: () => boolean }> {
  let messages = 0;
  let hasEnded = false;
  const stream = {
    send() {
      const until = performance.now() + 0.02;
      while (performance.now() < until);
      messages++;
      return true;
    },
    hasRoom: true,
    room: async () => true,
    end: () => (hasEnded = true),
  } as unknown as EventStream;
  streams.add(tenantId, stream, await streams.beginning(tenantId, null));
  await until(() => messages === 1, { what: 'that it is connected' });
  return { told: () => messages - 1, hasEnded: () => hasEnded };
}

function happens(tenantId: TenantId, partition: number, offset: number): void {
  const event = {
    ...requested(partition, offset),
    tenantId,
    notificationId: `notif_${tenantId}_${offset}` as NotificationId,
  };
  const head = { tenantId } as LogEntry['head'];
  append({ topic, partition, offset, appendedAt: Date.now(), size: 1, head, event, undecodable: null });
}

function foldedBelow(partition: number, offset: number): void {
  folded.set(partition, new Map([[topic, offset]]));
  changed();
}

it("tells a tenant of its own before another one's forty streams have heard of all of its five hundred", async () => {
  const many: Awaited<ReturnType<typeof open>>[] = [];
  for (let n = 0; n < 40; n++) many.push(await open(flooder));
  const other = await open(quiet);
  for (let n = 0; n < 500; n++) happens(flooder, flooded, n);
  foldedBelow(flooded, 500);
  await until(() => (many[0]?.told() ?? 0) > 0, { what: 'that they are being told', everyMs: 1 });
  happens(quiet, calm, 0);
  foldedBelow(calm, 1);
  await until(() => other.told() === 1, { what: 'the other to be told', everyMs: 1 });
  expect(many.at(-1)?.told()).toBeLessThan(500);
  await until(() => many.every(({ told }) => told() === 500), { timeoutMs: 60_000, what: 'all to be told of all' });
});

it("ends the streams of the tenant for which most waits, and nobody else's", async () => {
  const [own, other] = [await open(flooder), await open(quiet)];
  happens(quiet, calm, 0);
  for (let n = 0; n < 20_000; n++) happens(flooder, flooded, n);
  expect([own.hasEnded(), other.hasEnded()]).toEqual([true, false]);
  expect(said).toEqual([expect.stringMatching(/of a tenant end/)]);
  foldedBelow(calm, 1);
  await until(() => other.told() === 1, { what: 'the other to be told' });
});

it('asks for nothing of whom nothing waits for', async () => {
  await open(flooder);
  await open(quiet);
  looks = 0;
  happens(quiet, calm, 0);
  for (let n = 0; n < 10; n++) changed();
  foldedBelow(calm, 1);
  await until(() => looks > 0, { what: 'a look' });
  // Its one number, however often: two looks at once at most.
  expect(looks).toBeLessThanOrEqual(2);
});
