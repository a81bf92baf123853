// Folding: a log of 200,000 notifications, from no read models at all until the real projectors have seen every event; and `rebuild`, as a user runs it.

import { randomBytes } from 'node:crypto';

import { tenantIdOf } from '../../src/domain/ids.ts';
import { fillLog } from '../children.ts';
import { addCost } from '../cost.ts';
import { timeFold } from '../folding.ts';
import { monotonicMs } from '../protocol.ts';
import { formatted } from '../results.ts';
import { bytesOfViews, runCommand } from '../service.ts';
import type { Stage } from '../stage.ts';
import { measureExpress } from './accept.ts';

export async function measureFold(stage: Stage): Promise<void> {
  const { results, engines, sizes, profiles } = stage;
  const { targets } = engines;
  const notifications = sizes.folded;
  const perSecond = (ms: number) => (notifications / ms) * 1000;
  const express = await measureExpress(stage);
  const place = await stage.place('fold');
  // Read models know tenants by their ids alone; they are as long as real ones, since each row and entry of an index has one.
  const tenantIds = Array.from({ length: sizes.tenants }, () => tenantIdOf(randomBytes(16)));
  const filled = await fillLog(place, { notifications, tenantIds, share: 'as all' });
  results.progress(
    `fold: ${notifications} notifications (two events each) put into the log in ${seconds(filled.tookMs)}`,
  );
  await place.dropReadModels();

  const projector = await stage.start(place, 'projector');
  const profiling = await profiles.begin({ ...projector, name: 'fold' });
  const { recordsMs, searchMs, cost, overTime } = await timeFold(
    projector,
    { ...filled, notifications },
    results.progress,
  );
  await profiling.end();
  await projector.stop();
  results.add('fold: records and inbox, from nothing', perSecond(recordsMs), 'notifications/s', targets.foldPerSecond);
  results.add('fold: with the search', perSecond(searchMs), 'notifications/s', targets.foldSearchedPerSecond);
  results.addSeries({ plot: 'events folded a second', line: 'all read models', unit: '/s', points: overTime });
  const views = await bytesOfViews(place);
  if (views !== null) results.add('fold: views.db, a notification', views / notifications, 'bytes', targets.viewsBytes);
  if (cost !== null) {
    addCost(stage, 'folding a notification', [cost.all], notifications, express.requestUs);
    results.add('cost: folding a notification: of it for records and inbox', cost.restUs, 'us');
    results.add('cost: folding a notification: of it for the search', cost.searchUs, 'us');
  }

  const startedAt = monotonicMs();
  const said = await runCommand(place, ['rebuild']);
  const rebuiltMs = monotonicMs() - startedAt;
  results.progress(`fold: rebuilt in ${seconds(rebuiltMs)}${said}`);
  results.add('fold: rebuild, all read models and compared', perSecond(rebuiltMs), 'notifications/s');
}

function seconds(ms: number): string {
  return `${formatted(ms / 1000)} s`;
}
