// Latency: webhooks at 200/s whatever the answers, from the moment that each POST was due until it arrived at the sink.

import { latency } from '../over-time.ts';
import type { Percentiles } from '../protocol.ts';
import { formatted } from '../results.ts';
import { allAccepted, connections, targetOf } from '../stage.ts';
import type { LoadedServer, Stage } from '../stage.ts';

const ratePerSecond = 200;
const arriveWithinMs = 10_000;

export async function measureLatency(stage: Stage): Promise<void> {
  const { results, engines } = stage;
  const service = await stage.allRoles();
  const { accepted, arrived } = await latenciesOf(stage, 'herald', service);
  results.add('latency at 200/s: POST to 202, p50', accepted.p50, 'ms');
  results.add('latency at 200/s: POST to 202, p99', accepted.p99, 'ms');
  results.add('latency at 200/s: POST to sink, p50', arrived.p50, 'ms', engines.targets.latencyP50Ms);
  results.add('latency at 200/s: POST to sink, p99', arrived.p99, 'ms', engines.targets.latencyP99Ms);
  await service.settle();
}

/** After some to warm up. */
export async function latenciesOf(
  stage: Stage,
  name: string,
  server: LoadedServer,
): Promise<{ readonly accepted: Percentiles; readonly arrived: Percentiles }> {
  const { results, sink, load, sizes } = stage;
  const target = targetOf(stage, server);
  const run = async (durationMs: number) => {
    sink.reset();
    const accepted = allAccepted(await load.run({ kind: 'open', target, connections, ratePerSecond, durationMs }));
    return { accepted, arrived: await sink.report(accepted.answers, arriveWithinMs) };
  };
  await run(sizes.latency.warmUpMs);
  const { accepted, arrived } = await run(sizes.latency.durationMs);
  const { p50, p99, max } = arrived.latencyMs;
  results.progress(
    `latency: ${name}, ${arrived.ids.length} of ${accepted.answers} at ${ratePerSecond}/s, p50 ${formatted(p50)} p99 ${formatted(p99)} max ${formatted(max)} ms`,
  );
  for (const share of ['p50', 'p99'] as const)
    results.addSeries(latency('POST to sink at 200/s', name, arrived.overTime, share));
  return { accepted: accepted.latencyMs, arrived: arrived.latencyMs };
}
