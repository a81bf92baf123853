// Folding: a log of 200,000 notifications, from no read models at all until the real projectors have seen every event; then `rebuild`, as a user runs it.

import { fillLog } from '../children.ts';
import type { Filled } from '../protocol.ts';
import { monotonicMs } from '../protocol.ts';
import { formatted } from '../results.ts';
import { runCommand } from '../service.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';

const notifications = 200_000;
const tenants = 20;
const foldWithinMs = 300_000;
const lookEveryMs = 100;
const tellEveryMs = 5000;

export async function measureFold(stage: Stage): Promise<void> {
  const { results, engines } = stage;
  const place = await stage.place('fold');
  const filled = await fillLog(place, { notifications, tenants });
  results.progress(
    `fold: ${notifications} notifications (two events each) put into the log in ${seconds(filled.tookMs)}`,
  );
  await place.dropReadModels();

  const projector = await stage.start(place, 'projector');
  const foldedMs = await timeFold(projector, filled.foldedEvents, results.progress);
  await projector.stop();
  results.add(
    'fold: --role projector, from nothing',
    perSecond(foldedMs),
    'notifications/s',
    engines.targets.foldPerSecond,
  );

  const startedAt = monotonicMs();
  const said = await runCommand(place, ['rebuild']);
  const rebuiltMs = monotonicMs() - startedAt;
  results.progress(`fold: rebuilt in ${seconds(rebuiltMs)}${said}`);
  results.add('fold: rebuild, all read models and compared', perSecond(rebuiltMs), 'notifications/s');
}

/** From the last look at which nothing was folded (before it the process starts and joins its groups) to the first at which everything is. */
async function timeFold(
  service: Service,
  wanted: Filled['foldedEvents'],
  progress: (line: string) => void,
): Promise<number> {
  const deadline = monotonicMs() + foldWithinMs;
  let begunAt = monotonicMs();
  let toldAt = begunAt;
  for (;;) {
    const folded = await foldedEvents(service);
    const now = monotonicMs();
    const sum = [...folded.values()].reduce((a, b) => a + b, 0);
    if (sum === 0) begunAt = now;
    if (Object.entries(wanted).every(([readModel, events]) => (folded.get(readModel) ?? 0) >= events))
      return now - begunAt;
    if (now > deadline) throw new Error(`not folded within ${foldWithinMs / 1000} s: ${JSON.stringify([...folded])}`);
    if (now - toldAt > tellEveryMs) {
      toldAt = now;
      const total = Object.values(wanted).reduce((a, b) => a + b, 0);
      progress(`fold: ${sum} of ${total} events folded`);
    }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

/** By read model, as the service counts them itself. */
async function foldedEvents({ operationsUrl }: Service): Promise<Map<string, number>> {
  const metrics = await (await fetch(`${operationsUrl}/metrics`)).text();
  const counters = metrics.matchAll(/^herald_folded_events_total\{.*read_model="(\w+)".*\} (\d+)$/gm);
  return new Map([...counters].map(([, readModel = '', events]) => [readModel, Number(events)]));
}

function perSecond(ms: number): number {
  return (notifications / ms) * 1000;
}

function seconds(ms: number): string {
  return `${formatted(ms / 1000)} s`;
}
