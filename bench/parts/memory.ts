// Memory: on 20 connections with small bodies and with large ones; and memory and health under a crowd: 4,000 connections with bodies of any size, slow
// senders, slow readers, slow receivers.

import { startCrowd } from '../children.ts';
import { monotonicMs } from '../protocol.ts';
import { formatted } from '../results.ts';
import type { Target } from '../results.ts';
import { residentMemory } from '../service.ts';
import { allAccepted, targetOf } from '../stage.ts';
import type { Stage } from '../stage.ts';

const bodyConnections = 20;
const largeBytes = 190 * 1000;
const healthEveryMs = 200;

/** Each in a process of its own. */
export async function measureBodies(stage: Stage): Promise<void> {
  const { targets } = stage.engines;
  await bodiesOf(stage, 'small bodies', null, targets.memoryMiB);
  await bodiesOf(stage, 'bodies of 190 KB', largeBytes, targets.largeBodiesMiB);
}

export async function measureMemory(stage: Stage): Promise<void> {
  const { results, engines, sizes } = stage;
  const service = await stage.allRolesFor('crowd');
  const crowd = startCrowd();
  const health = watchHealth(service.operationsUrl);
  const { statuses } = await crowd.run({ port: service.port, apiKeys: service.apiKeys, ...sizes.crowd });
  crowd.stop();
  const { answers, longestMs } = health.end();
  const memory = residentMemory(service.pid);
  results.progress(
    `memory: a crowd of ${sizes.crowd.connections}; posts answered: ${JSON.stringify(statuses)}, health ${answers} times`,
  );
  if (memory !== null) {
    results.add('resident memory beside a crowd, highest', memory.peakMiB, 'MiB', engines.targets.crowdMiB);
  }
  results.add('longest answer of health beside a crowd', longestMs, 'ms', { kind: 'at most', value: 500 });
  // What it has taken of large bodies and slow receivers is minutes of work, beside which nothing else may be measured.
  await service.stop();
}

async function bodiesOf(stage: Stage, what: string, bodyBytes: number | null, target: Target | null): Promise<void> {
  const { results, sizes, load } = stage;
  const service = await stage.allRolesFor(what.replaceAll(' ', '-'));
  const until = { kind: 'after', durationMs: sizes.bodiesMs } as const;
  const { perSecond } = allAccepted(
    await load.run({
      kind: 'closed',
      target: { ...targetOf(stage, service), bodyBytes },
      connections: bodyConnections,
      until,
    }),
  );
  await service.settle();
  const memory = residentMemory(service.pid);
  results.progress(`memory: ${what} on ${bodyConnections} connections, ${formatted(perSecond)}/s`);
  await service.stop();
  if (memory !== null)
    results.add(`resident memory, ${what} on ${bodyConnections} connections, highest`, memory.peakMiB, 'MiB', target);
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
