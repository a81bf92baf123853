// Idle: what a service costs of which nobody asks anything, once all that its start has left behind is done.

import { spending } from '../cost.ts';
import { totalUs } from '../cpu.ts';
import type { Stage } from '../stage.ts';

/** Who starts with nothing joins groups, is told its numbers and compiles what it runs for the first time. */
export async function measureIdle(stage: Stage): Promise<void> {
  const { results, engines, sizes } = stage;
  const { restMs, measuredMs } = sizes.idle;
  const service = await stage.allRolesFor('idle');
  await service.settle();
  await sleep(restMs);
  const { result: tookMs, spent } = await spending(stage, { ...service, name: 'idle' }, async () => {
    const since = performance.now();
    await sleep(measuredMs);
    return performance.now() - since;
  });
  await service.stop();
  if (spent === null) return;
  const percent = (us: number) => us / tookMs / 10;
  for (const [thread, us] of spent) results.add(`idle: ${thread}`, percent(us), '% of a core');
  results.add('idle: all threads', percent(totalUs(spent)), '% of a core', engines.targets.idlePercent);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
