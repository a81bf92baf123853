// Latency: webhooks at 200/s whatever the answers, from the moment that each POST was due until it arrived at the sink.

import { formatted } from '../results.ts';
import { allAccepted, connections } from '../stage.ts';
import type { Stage } from '../stage.ts';

const ratePerSecond = 200;
const durationMs = 20_000;
const warmUpMs = 3000;

export async function measureLatency(stage: Stage): Promise<void> {
  const { results, sink, load, engines } = stage;
  const service = await stage.allRoles();
  const target = { port: service.port, apiKeys: service.apiKeys, sinkUrl: sink.url, keepIds: false };
  const run = async (ms: number) => {
    sink.reset();
    const result = allAccepted(await load.run({ kind: 'open', target, connections, ratePerSecond, durationMs: ms }));
    return { accepted: result.latencyMs, arrived: await sink.report(result.answers, 10_000), sent: result.answers };
  };
  await run(warmUpMs);
  const { accepted, arrived, sent } = await run(durationMs);
  const { p50, p99, max } = arrived.latencyMs;
  results.progress(
    `latency: ${arrived.ids.length} of ${sent} at ${ratePerSecond}/s, p50 ${formatted(p50)} p99 ${formatted(p99)} max ${formatted(max)} ms`,
  );
  results.add('latency at 200/s: POST to 202, p50', accepted.p50, 'ms');
  results.add('latency at 200/s: POST to 202, p99', accepted.p99, 'ms');
  results.add('latency at 200/s: POST to sink, p50', p50, 'ms', engines.targets.latencyP50Ms);
  results.add('latency at 200/s: POST to sink, p99', p99, 'ms', engines.targets.latencyP99Ms);
  await service.settle();
}
