// Delivering: 20,000 webhooks of 20 tenants, from the first POST to the last arrival, none lost and none twice.

import { formatted } from '../results.ts';
import { loadFully } from '../stage.ts';
import type { Stage } from '../stage.ts';
import { measureExpress } from './accept.ts';

const webhooks = 20_000;
const arriveWithinMs = 120_000;

export async function measureDelivery(stage: Stage): Promise<void> {
  const { results, sink } = stage;
  const express = await measureExpress(stage);
  const service = await stage.allRoles();
  await loadFully(stage, service, { kind: 'after', durationMs: 2000 });
  await service.settle();
  sink.reset();
  const accepted = await loadFully(stage, service, { kind: 'count', requests: webhooks }, true);
  const arrived = await sink.report(webhooks, arriveWithinMs);
  const seen = new Set(arrived.ids);
  const lost = accepted.ids.filter((id) => !seen.has(id)).length;
  const perSecond = (webhooks / (arrived.lastArrivalAtMs - accepted.firstSentAtMs)) * 1000;
  results.progress(
    `delivery: ${webhooks} webhooks at ${formatted(perSecond)}/s end to end (accepted at ${formatted(accepted.perSecond)}/s; express ${formatted(express)}/s)`,
  );
  results.add(
    'delivery: 20,000 webhooks end to end',
    perSecond,
    '/s',
    stage.engines.targets.deliveredPerSecond(express),
  );
  results.add('delivery: accepted and never arrived', lost, '', { kind: 'at most', value: 0 });
  results.add('delivery: arrived more than once', arrived.arrivals - arrived.ids.length, '', {
    kind: 'at most',
    value: 0,
  });
  await service.settle();
}
