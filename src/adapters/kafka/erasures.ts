// Keeps a process at what is erased, from before it reads or writes anything else.

import { createErasureReader } from '../../codec/erasures.ts';
import { settingsTopic, type Topic } from '../../domain/topics.ts';
import type { EventLog } from '../../ports/event-log.ts';
import { type WaitDependencies, waitUntilUp } from './wait-until-up.ts';

/**
 * Resolves once all that the log had is noted, as decoding does; from then on it is told of each. Returns the call that ends it.
 * @throws Error when the signal is aborted
 */
export async function followErasures(
  log: Pick<EventLog, 'ends' | 'read' | 'tail'>,
  topics: readonly Topic[],
  waiting: WaitDependencies,
): Promise<() => void> {
  if (!topics.includes(settingsTopic)) return () => undefined;
  // A look at the event decodes it.
  const untail = log.tail([settingsTopic], (entry) => void entry.event);
  try {
    await waitUntilUp('Kafka', createErasureReader(log), waiting);
    return untail;
  } catch (error) {
    untail();
    throw error;
  }
}
