// Delivering: 20,000 webhooks of 20 tenants, from the first POST to the last arrival, none lost and none twice; and what each costs until all is folded.

import { addCost, spending } from '../cost.ts';
import type { Spending } from '../cost.ts';
import { readCpu } from '../cpu.ts';
import { latency, throughput } from '../over-time.ts';
import { formatted } from '../results.ts';
import { loadFully, targetOf } from '../stage.ts';
import type { LoadedServer, Stage } from '../stage.ts';
import { measureExpress } from './accept.ts';

const arriveWithinMs = 120_000;

export interface Deliverer extends LoadedServer {
  readonly pid: number;
  readonly inspectorUrl: string | null;
  /** A server of its own, whose processor time is told as well. */
  readonly besidePid?: number;
  settle(): Promise<void>;
}

export interface Delivered {
  readonly perSecond: number;
  readonly acceptedPerSecond: number;
  readonly lost: number;
  readonly repeated: number;
  /** Processor time of the server beside it; null: it has none. */
  readonly besideUs: number | null;
}

export async function measureDelivery(stage: Stage): Promise<void> {
  const { results, engines, sizes } = stage;
  const express = await measureExpress(stage);
  const { result, spent } = await deliver(stage, 'webhooks', await stage.allRoles());
  results.progress(
    `delivery: ${sizes.webhooks} webhooks at ${formatted(result.perSecond)}/s end to end (accepted at ${formatted(result.acceptedPerSecond)}/s; express ${formatted(express.perSecond)}/s)`,
  );
  const { targets } = engines;
  const target = targets.deliveredPerSecond(express.perSecond);
  results.add(
    `delivery: ${sizes.webhooks.toLocaleString('en-US')} webhooks end to end`,
    result.perSecond,
    '/s',
    target,
  );
  results.add('delivery: accepted and never arrived', result.lost, '', { kind: 'at most', value: 0 });
  results.add('delivery: arrived more than once', result.repeated, '', { kind: 'at most', value: 0 });
  addCost(stage, 'a webhook, end to end', [spent], sizes.webhooks, express.requestUs, targets.webhook);
}

/** As many webhooks as fast as they are taken, after some to warm up. */
export async function deliver(stage: Stage, name: string, server: Deliverer): Promise<Spending<Delivered>> {
  const { sink, sizes, results } = stage;
  const target = targetOf(stage, server);
  await loadFully(stage, target, sizes.accept.warmUp);
  await server.settle();
  sink.reset();
  return spending(stage, { ...server, name }, async () => {
    const requests = sizes.webhooks;
    const besideUs = () => (server.besidePid === undefined ? null : (readCpu(server.besidePid)?.processUs ?? null));
    const besideBefore = besideUs();
    const accepted = await loadFully(stage, { ...target, keepIds: true }, { kind: 'count', requests });
    const arrived = await sink.report(requests, arriveWithinMs);
    await server.settle();
    results.addSeries(throughput('webhooks a second', `${name}, accepted`, accepted.overTime));
    results.addSeries(throughput('webhooks a second', `${name}, arrived`, arrived.overTime));
    results.addSeries(latency('POST to 202 under full load', name, accepted.overTime, 'p99'));
    const besideAfter = besideUs();
    const seen = new Set(arrived.ids);
    return {
      perSecond: (requests / (arrived.lastArrivalAtMs - accepted.firstSentAtMs)) * 1000,
      acceptedPerSecond: accepted.perSecond,
      lost: accepted.ids.filter((id) => !seen.has(id)).length,
      repeated: arrived.arrivals - arrived.ids.length,
      besideUs: besideBefore === null || besideAfter === null ? null : besideAfter - besideBefore,
    };
  });
}
