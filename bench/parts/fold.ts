// Folding: every read model built anew from the log by `rebuild`, timed as a user would.

import { formatted } from '../results.ts';
import { monotonicMs } from '../protocol.ts';
import { runCommand } from '../service.ts';
import { loadFully } from '../stage.ts';
import type { Stage } from '../stage.ts';

const notifications = 50_000;
const arriveWithinMs = 180_000;

/** Ends the service: it must come last. */
export async function measureFold(stage: Stage): Promise<void> {
  const { results, sink } = stage;
  const service = await stage.foldable();
  sink.reset();
  const filled = await loadFully(stage, service, { kind: 'count', requests: notifications });
  await sink.report(filled.answers, arriveWithinMs);
  await service.settle();
  await service.stop();
  const startedAt = monotonicMs();
  await runCommand(service.dataDir, ['rebuild']);
  const perSecond = (filled.answers / (monotonicMs() - startedAt)) * 1000;
  results.progress(`fold: ${filled.answers} notifications (two events each) at ${formatted(perSecond)}/s`);
  results.add('fold: all read models rebuilt', perSecond, 'notifications/s');
}
