// The watchdog of a process: what its roles are responsible for, and what readiness says of it.

import type { UpOrWhy } from '../api/operations.ts';
import type { Dispatcher } from '../dispatchers/dispatcher.ts';
import { dispatcherGroup } from '../dispatchers/dispatcher.ts';
import { priorities } from '../domain/events.ts';
import { workTopic } from '../domain/topics.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { projectedReadModels } from '../projections/index.ts';
import { projectorGroup } from '../projections/projector.ts';
import type { ReadModel } from '../projections/read-model.ts';
import { timersReadModel } from '../projections/timers/index.ts';
import { dispatcherFeed, readModelFeed, timersFeed } from '../watch/feeds.ts';
import type { Feed, Watchdog } from '../watch/watchdog.ts';
import { startWatchdog } from '../watch/watchdog.ts';
import type { Adapters } from './adapters.ts';
import type { Role } from './config.ts';
import type { Health } from './health.ts';
import type { ProjectorThread } from './projector-thread.ts';

export interface Watched {
  readonly adapters: Adapters;
  readonly health: Health;
  readonly roles: ReadonlySet<Role>;
  readonly reader: ReadModelReader;
  readonly thread: ProjectorThread | null;
  readonly dispatchers: readonly Dispatcher[];
}

export function startWatching(watched: Watched): Watchdog {
  const { adapters, health, roles } = watched;
  const models = [
    ...(roles.has('projector') ? projectedReadModels : []),
    ...(roles.has('scheduler') ? [timersReadModel] : []),
  ];
  const feeds = [
    ...watched.dispatchers.map((dispatcher) => feedOfDispatcher(adapters, dispatcher)),
    ...models.map((readModel) => feedOfReadModel(watched, readModel)),
    ...(roles.has('scheduler') ? [feedOfTimers(watched)] : []),
  ];
  const { log, clock, logger, metrics } = adapters;
  const watchdog = startWatchdog({ feeds, log, clock, logger, metrics });
  health.need('progress', async () => progressOf(watchdog));
  return watchdog;
}

function feedOfDispatcher({ log }: Adapters, { channel, activity }: Dispatcher): Feed {
  const topics = priorities.map((priority) => workTopic(channel, priority));
  return dispatcherFeed({ log, group: dispatcherGroup(channel), topics, activity });
}

function feedOfReadModel({ adapters, reader, thread }: Watched, readModel: ReadModel): Feed {
  const { log, clock, metrics } = adapters;
  const { name } = readModel.definition;
  const oldestInHandMs = (): number => {
    const at = thread?.folding().find((state) => state.readModel === name)?.oldestInHandAt ?? null;
    return at === null ? 0 : Math.max(0, clock.now() - at);
  };
  return readModelFeed({ log, reader, readModel, group: projectorGroup(name), clock, metrics, oldestInHandMs });
}

function feedOfTimers({ adapters: { log, clock }, reader }: Watched): Feed {
  return timersFeed({ log, reader, group: projectorGroup(timersReadModel.definition.name), clock });
}

/** `dispatcher-email 3 7, projector-inbox 3 stand still`. */
function progressOf(watchdog: Watchdog): UpOrWhy {
  const groups = new Map<string, Set<number>>();
  for (const { group, partition } of watchdog.standing())
    groups.set(group, (groups.get(group) ?? new Set()).add(partition));
  if (groups.size === 0) return true;
  return `${[...groups].map(([group, numbers]) => `${group} ${[...numbers].join(' ')}`).join(', ')} stand still`;
}
