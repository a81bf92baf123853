// Folding: a log of 200,000 notifications, from no read models at all until the real projectors have seen every event; then searches in what was folded, and
// `rebuild`, as a user runs it.

import { stat } from 'node:fs/promises';
import { join } from 'node:path';

import { searchReadModel } from '../../src/projections/search/index.ts';
import { askSearches, fillLog } from '../children.ts';
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
/** Of five searches each. */
const searchRounds = 200;

export async function measureFold(stage: Stage): Promise<void> {
  const { results, engines } = stage;
  const place = await stage.place('fold');
  const filled = await fillLog(place, { notifications, tenants });
  results.progress(
    `fold: ${notifications} notifications (two events each) put into the log in ${seconds(filled.tookMs)}`,
  );
  await place.dropReadModels();

  const projector = await stage.start(place, 'projector');
  const { foldedMs, searchedMs } = await timeFold(projector, filled.foldedEvents, results.progress);
  await projector.stop();
  const { targets } = engines;
  results.add('fold: records and inbox, from nothing', perSecond(foldedMs), 'notifications/s', targets.foldPerSecond);
  results.add('fold: with the search', perSecond(searchedMs), 'notifications/s', targets.foldSearchedPerSecond);
  if (targets.viewsBytes !== null) {
    const { size } = await stat(join(place.dataDir, 'views.db'));
    results.add('fold: views.db, a notification', size / notifications, 'bytes', targets.viewsBytes);
  }
  const { latencyMs } = await askSearches(place, { ...filled, rounds: searchRounds });
  results.add(`search in ${notifications}: one query, p50`, latencyMs.p50, 'ms');
  results.add(`search in ${notifications}: one query, p99`, latencyMs.p99, 'ms', targets.searchP99Ms);

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
): Promise<{ readonly foldedMs: number; readonly searchedMs: number }> {
  const deadline = monotonicMs() + foldWithinMs;
  let begunAt = monotonicMs();
  let toldAt = begunAt;
  let foldedMs = Number.NaN;
  for (;;) {
    const folded = await foldedEvents(service);
    const now = monotonicMs();
    const sum = [...folded.values()].reduce((a, b) => a + b, 0);
    if (sum === 0) begunAt = now;
    const behind = Object.entries(wanted).filter(([readModel, events]) => (folded.get(readModel) ?? 0) < events);
    if (Number.isNaN(foldedMs) && behind.every(([readModel]) => readModel === searchReadModel.definition.name))
      foldedMs = now - begunAt;
    if (behind.length === 0) return { foldedMs, searchedMs: now - begunAt };
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
