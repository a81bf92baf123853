// One request with 10,000 in-app items, beside the events of such a batch appended by a process that does nothing else, in alternation: what accepting costs on top.

import { openConnection } from '../connection.ts';
import { startAppending } from '../children.ts';
import { addCost, spending } from '../cost.ts';
import type { CpuSpent } from '../cpu.ts';
import { addedUp, totalUs } from '../cpu.ts';
import { monotonicMs } from '../protocol.ts';
import { formatted, median } from '../results.ts';
import { provisionTenants, residentMemory } from '../service.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';

interface Round {
  readonly tookMs: number;
  readonly spent: CpuSpent | null;
}

/** Until all that runs often is compiled. */
const warmUpRounds = 5;

export async function measureBatch(stage: Stage): Promise<void> {
  const { results, engines, sizes } = stage;
  const { items, rounds } = sizes.batch;
  const place = await stage.place('batch');
  const service = await stage.start(place, 'api');
  const [tenant] = await provisionTenants(place, service.port, 1);
  const alone = await startAppending(await stage.place('appending'), { items });
  stage.atEnd(async () => alone.stop());
  const poster = await openPoster(service, tenant?.apiKey ?? '', items);
  const before = residentMemory(service.pid);
  const batches: Round[] = [];
  const appends: Round[] = [];
  for (let round = -warmUpRounds; round < rounds; round++) {
    const inspectorUrl = round === rounds - 1 ? service.inspectorUrl : null;
    const posted = await spending(stage, { pid: service.pid, inspectorUrl, name: 'a batch' }, poster.post);
    const appended = await spending(stage, { pid: alone.pid, inspectorUrl: null, name: 'its events' }, alone.append);
    if (round < 0) continue;
    batches.push({ tookMs: posted.result, spent: posted.spent });
    appends.push({ tookMs: appended.result, spent: appended.spent });
  }
  const after = residentMemory(service.pid);
  poster.close();
  await service.stop();

  const name = `a batch of ${formatted(items)}`;
  const tookMs = (all: readonly Round[]) => median(all.map((round) => round.tookMs));
  results.add(`${name}: answered`, tookMs(batches), 'ms');
  results.add(`${name}: its events alone`, tookMs(appends), 'ms');
  results.add(`${name}: of its events alone`, tookMs(appends) / tookMs(batches), 'x', engines.targets.batchToAppends);
  addCost(stage, 'an item of a batch', spentBy(batches), items * rounds, null);
  addCost(stage, 'an event alone', spentBy(appends), items * rounds, null);
  const [ofBatches, ofAppends] = [cpuOf(batches), cpuOf(appends)];
  if (ofBatches !== null && ofAppends !== null)
    results.add(`${name}: of its events alone, processor time`, ofAppends / ofBatches, 'x');
  if (before !== null && after !== null)
    results.add(`${name}: memory over that of a new process`, after.peakMiB - before.nowMiB, 'MiB', {
      kind: 'at most',
      value: 64,
    });
}

function spentBy(rounds: readonly Round[]): readonly (CpuSpent | null)[] {
  return rounds.map(({ spent }) => spent);
}

function cpuOf(rounds: readonly Round[]): number | null {
  const known = spentBy(rounds).filter((spent) => spent !== null);
  return known.length < rounds.length ? null : totalUs(addedUp(known));
}

interface Poster {
  /** Resolves with the ms from the first byte written to the last one read. @throws Error when not every item was accepted */
  post(): Promise<number>;
  close(): void;
}

async function openPoster({ port }: Service, apiKey: string, items: number): Promise<Poster> {
  let answered: (status: string, body: string) => void = () => {};
  let failed: (error: Error) => void = () => {};
  const connection = await openConnection(port, {
    answered: (status, body) => answered(status, body),
    failed: (error) => failed(error),
  });
  const request = requestText(apiKey, items);
  return {
    post: () =>
      new Promise((resolve, reject) => {
        const sentAt = monotonicMs();
        answered = (status, body) => {
          const tookMs = monotonicMs() - sentAt;
          if (status === '202' && body.includes(`"accepted":${items},`)) resolve(tookMs);
          else reject(new Error(`a batch was answered with ${status}: ${body.slice(0, 1000)}`));
        };
        failed = reject;
        connection.send(request);
      }),
    close: () => connection.close(),
  };
}

function requestText(apiKey: string, items: number): string {
  const lines = Array.from({ length: items }, (_, i) =>
    JSON.stringify({ channel: 'IN_APP', recipient: `user-${i % 1000}`, subject: 'Hello', body: `Item ${i} is here` }),
  );
  const body = lines.join('\n');
  const head = [
    'POST /api/v1/notify/batch HTTP/1.1',
    'Host: 127.0.0.1',
    `x-api-key: ${apiKey}`,
    'Content-Type: application/x-ndjson',
    `Content-Length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
