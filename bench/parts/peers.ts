// The same webhooks through BullMQ with Express and Redis as through Herald, in turn so that a slow moment of the machine hits both.

import { join } from 'node:path';

import { addCost } from '../cost.ts';
import type { CpuSpent } from '../cpu.ts';
import { totalUs } from '../cpu.ts';
import { installPeers, startPeer } from '../peer.ts';
import { formatted, median } from '../results.ts';
import { residentMemory } from '../service.ts';
import type { Stage } from '../stage.ts';
import type { ExpressFigures } from './accept.ts';
import { measureExpress } from './accept.ts';
import type { Delivered } from './delivery.ts';
import { deliver } from './delivery.ts';
import { latenciesOf } from './latency.ts';

const name = 'BullMQ + Express';

export async function measurePeers(stage: Stage): Promise<void> {
  const { results, engines, sizes } = stage;
  await installPeers(results.progress);
  const express = await measureExpress(stage);
  const herald = await stage.allRoles();
  const peer = await startPeer(join((await stage.place('peer')).dataDir, 'redis'));
  stage.atEnd(peer.stop);
  const rates = { herald: [] as number[], peer: [] as number[] };
  let lost = 0;
  for (let round = 0; round < sizes.accept.rounds; round++) {
    rates.herald.push((await deliver(stage, 'herald beside a peer', herald)).result.perSecond);
    const { result, spent } = await deliver(stage, name, peer);
    rates.peer.push(result.perSecond);
    lost += result.lost;
    results.progress(
      `peers: round ${round + 1}, herald ${formatted(rates.herald.at(-1) ?? Number.NaN)}/s, ${name} ${formatted(result.perSecond)}/s, ${result.lost} lost`,
    );
    if (round === sizes.accept.rounds - 1) addCostOf(stage, result, spent, express);
  }
  const count = sizes.webhooks.toLocaleString('en-US');
  results.add(`peers: ${name}, ${count} webhooks end to end`, median(rates.peer), '/s');
  results.add(`peers: ${name}, accepted and never arrived`, lost, '', { kind: 'at most', value: 0 });
  const ratio = median(rates.herald) / median(rates.peer);
  results.add(`peers: herald / ${name}, ${count} webhooks end to end`, ratio, 'x', engines.targets.deliveredToPeer);
  const { accepted, arrived } = await latenciesOf(stage, name, peer);
  results.add(`peers: ${name}, at 200/s POST to 202, p99`, accepted.p99, 'ms');
  results.add(`peers: ${name}, at 200/s POST to sink, p50`, arrived.p50, 'ms');
  results.add(`peers: ${name}, at 200/s POST to sink, p99`, arrived.p99, 'ms');
  const memory = [residentMemory(peer.pid), residentMemory(peer.besidePid)].map((one) => one?.peakMiB ?? Number.NaN);
  const [app = Number.NaN, redis = Number.NaN] = memory;
  results.add(`peers: ${name}, resident memory with Redis, highest`, app + redis, 'MiB');
}

function addCostOf(stage: Stage, { besideUs }: Delivered, spent: CpuSpent | null, { requestUs }: ExpressFigures): void {
  const { results, sizes } = stage;
  const what = `a webhook of ${name}`;
  const units = sizes.webhooks;
  addCost(stage, `${what}, without Redis`, [spent], units, requestUs);
  if (spent === null || besideUs === null) return;
  results.add(`cost: ${what}: Redis`, besideUs / units, 'us');
  results.add(`cost: ${what}: with Redis`, (totalUs(spent) + besideUs) / units, 'us');
}
