// With 1,000,000 notifications, 900,000 of them one tenant's: how far the search is behind the records while they are folded, what queries take, and a start.

import { openAsker } from '../asking.ts';
import { addCost, spending } from '../cost.ts';
import { timeFold } from '../folding.ts';
import { machineIsQuiet } from '../machine.ts';
import { monotonicMs } from '../protocol.ts';
import { formatted, median } from '../results.ts';
import { bytesOfViews } from '../service.ts';
import type { Stage } from '../stage.ts';
import { storedLog } from '../stored.ts';
import type { Stored } from '../stored.ts';
import { measureExpress } from './accept.ts';

/** Not measured: statements are prepared and code is compiled. */
const warmingRounds = 50;
const foldWithinMs = 1_800_000;
const lookEveryMs = 200;

/** Folds them from nothing, however far they were, and searches. */
export async function measureSearch(stage: Stage): Promise<void> {
  const { results, engines } = stage;
  const { targets } = engines;
  const stored = await storedLog(stage);
  const { place, notifications, words } = stored;
  await place.dropReadModels();
  const projector = await stage.start(place, 'projector');
  const { recordsMs, searchMs, overTime } = await timeFold(projector, stored, results.progress);
  await projector.stop();
  const name = `search in ${formatted(notifications)}`;
  results.add(`${name}: behind the records of a fold`, (searchMs - recordsMs) / 1000, 's', targets.searchBehindSeconds);
  results.addSeries({
    plot: `events folded a second, of ${formatted(notifications)}`,
    line: 'all read models',
    unit: '/s',
    points: overTime,
  });
  const views = await bytesOfViews(place);
  if (views !== null) results.add(`${name}: views.db`, views / 1024 ** 3, 'GiB', targets.storedViewsGiB);

  await asked(stage, stored, {
    [name]: (round) => searchesOf(words[round % words.length] ?? ''),
  });
}

/** What the dashboard asks for. */
export async function measureQueries(stage: Stage): Promise<void> {
  const stored = await storedLog(stage);
  const name = `queries in ${formatted(stored.notifications)}`;
  await asked(stage, stored, {
    [`${name}: statistics`]: () => ['all', '30d', '24h', 'today'].map((range) => `/dashboard/stats?range=${range}`),
    [`${name}: statistics of a channel, by the hour for 30 days`]: () => [
      '/dashboard/stats?range=30d&by=hour&channel=EMAIL&provider=bench',
    ],
    [`${name}: failures`]: () => ['', '?by=hour', '?channel=SMS'].map((query) => `/dashboard/failures${query}`),
    [`${name}: first page`]: () => ['/notifications', '/notifications?limit=100'],
    [`${name}: page=400`]: () => ['/notifications?page=400'],
    ...Object.fromEntries(
      Object.keys(filtersOf(0)).map((filter) => [
        `${name}: by ${filter}`,
        (round: number) => [`/notifications?${filtersOf(round)[filter] ?? ''}`],
      ]),
    ),
  });
}

/** From the start of the process until it says that it is ready. */
export async function measureStart(stage: Stage): Promise<void> {
  const { results, engines, sizes } = stage;
  const stored = await storedLog(stage);
  await foldToItsEnd(stage, stored);
  const ready: number[] = [];
  for (let nth = 0; nth < sizes.starts; nth++) {
    const service = await stage.start(stored.place, null);
    ready.push((await service.readyInMs()) / 1000);
    await service.stop();
  }
  const name = `start with ${formatted(stored.notifications)} in the log: until ready`;
  results.add(name, median(ready), 's', engines.targets.startSeconds);
}

/** Asks each in turn, of the api role alone. */
async function asked(
  stage: Stage,
  stored: Stored,
  questions: Readonly<Record<string, (round: number) => readonly string[]>>,
): Promise<void> {
  const { results, engines, sizes } = stage;
  const express = await measureExpress(stage);
  await foldToItsEnd(stage, stored);
  const service = await stage.start(stored.place, 'api');
  if (!(await machineIsQuiet(sizes.quietWithinMs)))
    results.progress('the machine isn’t quiet: what is asked of it now takes longer than it would');
  const asker = await openAsker({ port: service.port, token: stored.token });
  for (const [name, pathsOf] of Object.entries(questions)) {
    await asker.ask(warmingRounds, pathsOf);
    const { result, spent } = await spending(stage, { ...service, name }, () => asker.ask(sizes.rounds, pathsOf));
    const target = name.endsWith('page=400') ? engines.targets.deepPageP99Ms : engines.targets.queryP99Ms;
    results.add(`${name}: one query, p50`, result.latencyMs.p50, 'ms');
    results.add(`${name}: one query, p99`, result.latencyMs.p99, 'ms', target);
    addCost(stage, name, [spent], result.count, express.requestUs);
  }
  asker.close();
  await service.stop();
}

/** Wherever they are: another version of a read model begins at nothing. The search, the last to come, answers with 503 until it has seen all. */
async function foldToItsEnd(stage: Stage, { place, token }: Stored): Promise<void> {
  const service = await stage.start(place, null);
  const headers = { authorization: `Bearer ${token}` };
  const deadline = monotonicMs() + foldWithinMs;
  for (;;) {
    const { status } = await fetch(`http://127.0.0.1:${service.port}/api/v1/notifications?q=order`, { headers });
    if (status === 200) break;
    if (status !== 503 || monotonicMs() > deadline) throw new Error(`the search answers with ${status}`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
  await service.settle();
  await service.stop();
}

/** What everybody has, what a single one has, both together, and the beginning of a recipient with a fact of the record. */
function searchesOf(word: string): string[] {
  return [
    'q=order',
    `q=${word}`,
    `q=order+shipped+${word}&metadata.source=bench`,
    'recipientPrefix=user-1&q=warehouse',
    'recipientPrefix=user-12@&channel=EMAIL',
  ].map((query) => `/notifications?${query}`);
}

/** Of each kind, those that most have, and one that nothing has. */
function filtersOf(round: number): Readonly<Record<string, string>> {
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  return {
    'a status': 'status=DELIVERED',
    'a status that few have': 'status=FAILED',
    'a channel': 'channel=SMS',
    'channel, priority and status': 'channel=EMAIL&priority=HIGH&status=DELIVERED',
    'a recipient': `recipient=user-${round % 50}@example.com`,
    'a template, a batch or a message id that nothing has': ['template', 'batchId', 'messageId'][round % 3] + '=none',
    'error class': 'errorClass=network',
    'error code and channel': 'errorCode=550&channel=EMAIL',
    'failed since, at a provider': `failedFrom=${ago(24 * 60)}&provider=bench`,
    'failed before, with a code': `failedTo=${ago(1)}&errorCode=503`,
    'requested between moments, at a provider': `from=${ago(60)}&to=${ago(1)}&provider=bench`,
  };
}
