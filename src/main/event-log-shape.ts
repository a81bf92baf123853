// What the log is made with: all topics, the partitioning, and the groups that begin at position 0 of a new topic.

import { dispatcherGroup } from '../dispatchers/dispatcher.ts';
import { channels, priorities } from '../domain/events.ts';
import { allTopics, defaultPartitioning, workTopic } from '../domain/topics.ts';

/** Projectors are no part of it: their positions stand in the read models' store. */
export const eventLogShape = {
  partitioning: defaultPartitioning,
  topics: allTopics,
  groups: channels.map((channel) => ({
    group: dispatcherGroup(channel),
    topics: priorities.map((priority) => workTopic(channel, priority)),
  })),
};
