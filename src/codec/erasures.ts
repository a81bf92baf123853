// Reads what a log says is erased, before anything else of it is read.

import { settingsTopic } from '../domain/topics.ts';
import type { EventLog } from '../ports/event-log.ts';

/**
 * A reader that goes on where it stopped: by its end everything that the log held at its beginning is noted, since decoding notes it.
 * Erasures stand among the audit and the suppressions, which are few.
 */
export function createErasureReader(log: Pick<EventLog, 'ends' | 'read'>): () => Promise<void> {
  const reached = new Map<number, number>();
  return async () => {
    for (const [partition, to] of (await log.ends(settingsTopic)).entries()) {
      const from = reached.get(partition) ?? 0;
      for await (const { head, event } of log.read({ topic: settingsTopic, partition, from, to }))
        if ((head?.type === 'RecipientErased' || head?.type === 'TenantErased') && event === null)
          throw new Error('an erasure does not decode');
      reached.set(partition, to);
    }
  };
}
