// The entry of the items' thread: texts come, encoded events go. It has no engine, and nothing of a tenant lasts in it.

import { workerData } from 'node:worker_threads';

import { createAddressPolicy } from '../adapters/http/guard-addresses.ts';
import { createUrlCheck } from '../adapters/http/guard-urls.ts';
import { createClock } from '../adapters/node/clock.ts';
import { createMetrics } from '../adapters/node/metrics.ts';
import { giveWayToOthers } from '../adapters/node/thread-niceness.ts';
import type { Made } from '../api/made-items.ts';
import { createItemMaking } from '../api/made-items.ts';
import { createCodec } from '../codec/index.ts';
import { packed } from '../codec/packed.ts';
import type { MadeEvents, MadeItems } from '../ports/item-maker.ts';
import type { ItemsAsked, ItemsThreadInput } from './items-thread.ts';
import { toMainThread } from './thread-entry.ts';

const { partitioning, outboundAllow, port } = workerData as ItemsThreadInput;

// Whoever sends a batch waits for all of it; a notification that comes by itself is waited for by people.
giveWayToOthers();

const codec = createCodec();
const metrics = createMetrics({ processMetrics: false, thread: 'items' });
const outbound = { problemWithUrl: createUrlCheck(createAddressPolicy(outboundAllow)) };
const make = createItemMaking({ partitioning, outbound, clock: createClock() });

port.on('message', (asked: ItemsAsked) => {
  const answer = answerTo(asked);
  port.postMessage(
    answer,
    answer.made.map(({ events }) => events.bytes.buffer as ArrayBuffer),
  );
});

const main = toMainThread<never>({ metrics, stop: async () => port.close() });
main.started();

function answerTo({ texts, of }: ItemsAsked): MadeItems {
  try {
    const items = make(texts, of);
    const answer = asMessage(items);
    metrics.increment('herald_items_made_total', {}, items.events.length);
    return answer;
  } catch {
    // An event that is not what its schema says, a fault of ours: where the main thread does the piece it is logged, and harms no other batch.
    return { through: 0, made: [], refused: [] };
  }
}

/** Those of a channel and priority together. */
function asMessage({ events, through, refused }: Made): MadeItems {
  const groups = Map.groupBy(events, ({ event }) => `${event.channel} ${event.priority}`);
  const made = Array.from(groups.values(), (group): MadeEvents => {
    const [first] = group;
    if (first === undefined) throw new Error('a group has one at least');
    return {
      channel: first.event.channel,
      events: packed(
        codec,
        group.map(({ event }) => event),
      ),
      notificationIds: group.map(({ event }) => event.notificationId),
      places: group.map(({ place }) => place),
    };
  });
  return { through, made, refused };
}
