// The watchdog of a process: what its roles are responsible for, and what readiness says of it. In a cluster it looks at what the other roles do as well,
// for lines and metrics alone: when the last dispatcher dies, somebody has to say so, and the others are as ready as before.

import type { UpOrWhy } from '../api/operations.ts';
import { dispatcherGroup } from '../dispatchers/dispatcher.ts';
import type { Channel } from '../domain/events.ts';
import { channels, priorities } from '../domain/events.ts';
import { workTopic } from '../domain/topics.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { projectedReadModels } from '../projections/index.ts';
import { projectorGroup } from '../projections/projector.ts';
import type { ReadModel } from '../projections/read-model.ts';
import { isFormerInUse } from '../projections/replacement.ts';
import { timersReadModel } from '../projections/timers/index.ts';
import { dispatcherFeed, jobsFeed, retentionFeed, timersFeed } from '../watch/feeds.ts';
import { readModelFeed } from '../watch/read-model-feed.ts';
import type { ReadModelUse } from '../watch/read-model-feed.ts';
import { restingFeed } from '../watch/resting.ts';
import type { Keeper } from '../retention/keeper.ts';
import { retentionGroup } from '../retention/keeper.ts';
import type { Standing } from '../watch/standstill.ts';
import type { Feed, Watchdog } from '../watch/watchdog.ts';
import { startWatchdog } from '../watch/watchdog.ts';
import type { Adapters } from './adapters.ts';
import type { Role } from './config.ts';
import type { Delivering } from './delivering.ts';
import type { Health } from './health.ts';
import type { ProjectorThread } from './projector-thread.ts';

export interface Watched {
  /** Other processes may have the other roles. */
  readonly isCluster: boolean;
  readonly adapters: Adapters;
  readonly health: Health;
  readonly roles: ReadonlySet<Role>;
  readonly reader: ReadModelReader;
  readonly thread: ProjectorThread | null;
  readonly delivering: Pick<Delivering, 'channels' | 'activity'>;
  /** null where this process keeps none: each looks after its own numbers. */
  readonly keeper: Keeper | null;
}

export function startWatching(watched: Watched): Watchdog {
  const { adapters, health, roles, delivering, keeper, isCluster } = watched;
  const projects = roles.has('projector');
  const schedules = roles.has('scheduler');
  const responsibilities: Responsibility[] = [
    ...channels.map((channel) => ofDispatcher(adapters, delivering, channel)),
    ...projectedReadModels
      .flatMap((readModel) => feedsOfReadModel(watched, readModel))
      .map((feed) => ({ isOwn: projects, feed })),
    { isOwn: schedules, feed: () => feedOfReadModel(watched, timersReadModel, async () => 'serves') },
    { isOwn: schedules, feed: () => feedOfTimers(watched) },
    { isOwn: schedules, feed: () => jobsFeed(adapters) },
    ...(keeper === null ? [] : [{ isOwn: true, feed: () => retentionFeed({ group: retentionGroup, ...keeper }) }]),
  ];
  const feeds: Feed[] = [];
  const own = new Set<string>();
  for (const { isOwn, feed: feedOf } of responsibilities) {
    if (!isOwn && !isCluster) continue;
    const feed = feedOf();
    feeds.push(feed);
    if (isOwn) own.add(feed.group);
  }
  const { log, clock, logger, metrics } = adapters;
  const watchdog = startWatchdog({ feeds, log, clock, logger, metrics });
  health.need('progress', async () => progressOf(watchdog.standing().filter(({ group }) => own.has(group))));
  return watchdog;
}

interface Responsibility {
  /** Of a role of this process. */
  readonly isOwn: boolean;
  feed(): Feed;
}

function ofDispatcher({ log, clock }: Adapters, delivering: Watched['delivering'], channel: Channel): Responsibility {
  const topics = priorities.map((priority) => workTopic(channel, priority));
  const activity = () => delivering.activity(channel);
  return {
    isOwn: delivering.channels.includes(channel),
    feed: () => restingFeed(dispatcherFeed({ log, group: dispatcherGroup(channel), topics, activity }), topics, clock),
  };
}

/** Of it, and of the one that it replaces as long as that serves. */
function feedsOfReadModel(watched: Watched, readModel: ReadModel): readonly (() => Feed)[] {
  const former = readModel.replaces?.readModel;
  if (former === undefined) return [() => feedOfReadModel(watched, readModel, async () => 'serves')];
  const isReplaced = async () => !(await isFormerInUse(watched.reader, readModel, former));
  return [
    () => feedOfReadModel(watched, readModel, async () => ((await isReplaced()) ? 'serves' : 'is not used')),
    () => feedOfReadModel(watched, former, async () => ((await isReplaced()) ? 'is not used' : 'serves')),
  ];
}

function feedOfReadModel(
  { adapters, reader, thread }: Watched,
  readModel: ReadModel,
  use: () => Promise<ReadModelUse>,
): Feed {
  const { log, clock, metrics } = adapters;
  const { name } = readModel.definition;
  const oldestInHandMs = (): number => {
    const at = thread?.oldestInHandAt(name) ?? null;
    return at === null ? 0 : Math.max(0, clock.now() - at);
  };
  const group = projectorGroup(name);
  const feed = readModelFeed({ log, reader, readModel, use, group, clock, metrics, oldestInHandMs });
  return restingFeed(feed, readModel.topics, clock);
}

function feedOfTimers({ adapters: { log, clock }, reader }: Watched): Feed {
  return timersFeed({ log, reader, group: projectorGroup(timersReadModel.definition.name), clock });
}

/** `dispatcher-email 3 7, projector-inbox 3 stand still`. */
function progressOf(standing: readonly Standing[]): UpOrWhy {
  const groups = new Map<string, Set<number>>();
  for (const { group, partition } of standing) groups.set(group, (groups.get(group) ?? new Set()).add(partition));
  if (groups.size === 0) return true;
  return `${[...groups].map(([group, numbers]) => `${group} ${[...numbers].join(' ')}`).join(', ')} stand still`;
}
