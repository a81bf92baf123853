// Memory and health under a crowd: 4,000 connections with bodies of any size, slow senders, slow readers, slow receivers.

import { startCrowd } from '../children.ts';
import { monotonicMs } from '../protocol.ts';
import { residentMemory } from '../service.ts';
import type { Stage } from '../stage.ts';

const crowdConnections = 4000;
const durationMs = Number(process.env['BENCH_CROWD_SECONDS'] ?? '60') * 1000;
const healthEveryMs = 200;

export async function measureMemory(stage: Stage): Promise<void> {
  const { results, engines } = stage;
  const service = await stage.crowded();
  const crowd = startCrowd();
  const health = watchHealth(service.operationsUrl);
  const plan = { port: service.port, apiKeys: service.apiKeys, connections: crowdConnections, durationMs };
  const { statuses } = await crowd.run(plan);
  crowd.stop();
  const { answers, longestMs } = health.end();
  const memory = residentMemory(service.pid);
  results.progress(`memory: a crowd of ${crowdConnections}; posts answered: ${JSON.stringify(statuses)}`);
  if (memory !== null) {
    results.add('resident memory beside a crowd, highest', memory.peakMiB, 'MiB', engines.targets.crowdMiB);
  }
  results.add(`longest answer of health beside a crowd, of ${answers}`, longestMs, 'ms', {
    kind: 'at most',
    value: 500,
  });
  await service.settle();
}

function watchHealth(url: string): { end(): { answers: number; longestMs: number } } {
  let answers = 0;
  let longestMs = 0;
  const timer = setInterval(() => void ask(), healthEveryMs);
  const ask = async () => {
    const since = monotonicMs();
    await fetch(`${url}/health/live`).catch(() => {});
    answers++;
    longestMs = Math.max(longestMs, monotonicMs() - since);
  };
  return {
    end() {
      clearInterval(timer);
      return { answers, longestMs };
    },
  };
}
