// Which notifications of a partition number retention has ended for: what the log still has of them is no gap.

import type { NotificationId } from '../domain/ids.ts';
import { retentionTopic } from '../domain/topics.ts';
import type { EventLog } from '../ports/event-log.ts';

export interface Forgotten {
  has(id: NotificationId): boolean;
  readonly size: number;
  /** Reads on, to the log's end. */
  update(): Promise<void>;
}

/** Read to the log's end. */
export async function readForgotten(
  log: Pick<EventLog, 'read' | 'ends'>,
  partition: number,
  isOfShard: (id: string) => boolean,
): Promise<Forgotten> {
  const ids = new Set<NotificationId>();
  let next = 0;
  const forgotten: Forgotten = {
    has: (id) => ids.has(id),
    get size() {
      return ids.size;
    },
    async update() {
      const to = (await log.ends(retentionTopic, [partition]))[partition] ?? 0;
      for await (const { event } of log.read({ topic: retentionTopic, partition, from: next, to }))
        if (event?.type === 'NotificationsForgotten')
          for (const id of event.notificationIds) if (isOfShard(id)) ids.add(id);
      next = Math.max(next, to);
    },
  };
  await forgotten.update();
  return forgotten;
}
