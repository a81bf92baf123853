// herald rebuild --watch as a person sees it: a bar on a terminal, plain lines elsewhere, and what differed in the end.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createProgress } from '../../src/main/progress.ts';
import type { WatchDependencies } from '../../src/main/rebuild-progress.ts';
import { untilRebuilt } from '../../src/main/rebuild-progress.ts';
import { noteWhenCaughtUp } from '../../src/projections/catching-up.ts';
import { projectedReadModels } from '../../src/projections/index.ts';
import { runLiveRebuilds } from '../../src/projections/live-rebuild.ts';
import type { RunningProjector } from '../../src/projections/projector.ts';
import { runProjector } from '../../src/projections/projector.ts';
import type { Engines } from '../projections/engines.ts';
import { appendAll, openEngines } from '../projections/engines.ts';
import type { Plan } from '../projections/histories.ts';
import { lifeOf } from '../projections/histories.ts';
import { until } from '../support/until.ts';

const delivered: Plan = {
  tenant: 0,
  channel: 'IN_APP',
  priority: 'HIGH',
  recipient: 0,
  template: false,
  requestedAfterMs: 0,
  isScheduled: false,
  isCancelled: false,
  steps: ['succeeded'],
  isRetriedByHand: false,
  isRead: false,
};
const notifications = 20;

/** What is written to it, as a terminal or as a file. */
function output(isTTY: boolean) {
  let text = '';
  const out = { isTTY, write: (part: string) => ((text += part), true) } as unknown as NodeJS.WriteStream;
  /** What clears a line to its end is shown as <K>. */
  return { out, text: () => text.replaceAll('\u001B[K', '<K>') };
}

describe('herald rebuild --watch', () => {
  let engines: Engines;
  let running: RunningProjector[];
  let folded: WatchDependencies;
  const names = projectedReadModels.map(({ definition }) => definition.name);

  beforeEach(async () => {
    engines = await openEngines();
    folded = { clock: engines.clock, areFolded: async () => true };
    await appendAll(engines.log, Array.from({ length: notifications }, (_, i) => lifeOf(delivered, i + 1)).flat());
    running = [];
    const { signal } = new AbortController();
    const caughtUp = projectedReadModels.map((readModel) => noteWhenCaughtUp({ ...engines, readModel, signal }));
    for (const readModel of projectedReadModels) running.push(await runProjector({ ...engines, readModel }));
    await Promise.all(caughtUp);
  });

  afterEach(async () => {
    for (const one of running) await one.stop();
    await engines.close();
  });

  const begin = async () => {
    for (const { definition } of projectedReadModels) await (await engines.store.beginRebuild(definition)).close();
  };
  const fill = () => {
    // What rests for long is asked again soon.
    const sleep: Engines['clock']['sleep'] = (ms, signal) => engines.clock.sleep(Math.min(ms, 50), signal);
    const clock = { ...engines.clock, sleep };
    for (const readModel of projectedReadModels)
      running.push(runLiveRebuilds({ ...engines, clock, readModel, filling: new Map(), oldKeptMs: 100 }));
  };
  const watch = async (isTTY: boolean) => {
    const shown = output(isTTY);
    const over = untilRebuilt(folded, engines, shown.out);
    await until(() => shown.text().includes('rebuild: '), { what: 'the first of it' });
    fill();
    await over;
    return shown.text();
  };

  it('in plain lines tells how far all of them are, that they are done, and what each came to', async () => {
    await begin();
    const lines = (await watch(false)).trimEnd().split('\n');
    expect(lines[0]).toMatch(/^rebuild: 0 of \d+ \(0 %\)$/);
    const [end, ...compared] = lines.slice(-1 - names.length);
    expect(end).toBe(`rebuild: ${names.join(', ')} done`);
    for (const [i, line] of compared.entries())
      expect(line).toMatch(new RegExp(`^${names[i]}: \\d+ documents compared, equal to those before$`));
  }, 60_000);

  it('on a terminal is one line that is written over, its bar never going back, until it is done', async () => {
    await begin();
    const text = await watch(true);
    const bars = [...text.matchAll(/\r\[(#*)\.*\] rebuild: (\d+) of (\d+) \([^\n\r]*\)<K>/g)];
    expect(bars.length).toBeGreaterThan(0);
    const filled = bars.map(([, bar = '']) => bar.length);
    expect(filled).toEqual([...filled].sort((a, b) => a - b));
    expect(text).toMatch(/\r<K>rebuild: [^\n]* done\n/);
  }, 60_000);

  it('says so when none is under way', async () => {
    const shown = output(false);
    await untilRebuilt(folded, engines, shown.out);
    expect(shown.text()).toBe('rebuild: none is under way\n');
  });

  it('says every half a minute that nothing is folded, and ends with a sentence once nobody is there who would', async () => {
    await begin();
    const shown = output(false);
    let [ahead, asked] = [0, 0];
    const clock: Engines['clock'] = {
      ...engines.clock,
      monotonic: () => engines.clock.monotonic() + ahead,
      async sleep(ms) {
        // Time passes as fast as it is waited for.
        ahead += ms;
      },
    };
    const areFolded = async () => {
      expect(ahead).toBeGreaterThanOrEqual(++asked * 30_000);
      return asked < 3;
    };
    await expect(untilRebuilt({ clock, areFolded }, engines, shown.out)).rejects.toThrow(
      /^Nobody folds the read models: .*"herald rebuild" while none does/,
    );
    expect([asked, ahead < 100_000, shown.text().match(/^rebuild: nothing was folded for 30 s;/gm)?.length]).toEqual([
      3,
      true,
      2,
    ]);
  });
});

it('tells a rate of what was done since it was told first: work that goes on began long before', async () => {
  const shown = output(true);
  const progress = createProgress('rebuild', shown.out);
  progress.update(1_000_000, 2_000_000);
  expect(shown.text()).toContain('rebuild: 1000000 of 2000000 (50 %)<K>');
  let done = 1_000_000;
  // A line at most every 100 ms.
  await until(() => (progress.update(++done, 2_000_000), shown.text().includes('/s')), { everyMs: 10 });
  const [, rate] = /, (\d+)\/s, .* left\)/.exec(shown.text()) ?? [];
  expect(Number(rate)).toBeLessThan(1000);
});
