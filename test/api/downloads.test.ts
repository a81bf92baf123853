// Downloads by themselves: who waits for a piece that is still being made, and whose place it takes.

import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

import { expect, it } from '@jest/globals';

import { createMetrics } from '../../src/adapters/node/metrics.ts';
import { createDownloads } from '../../src/api/downloads.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { until } from '../support/until.ts';

it('a first piece that takes too long is refused before it is there, is to end, and keeps its place until it is over', async () => {
  const metrics = createMetrics({ processMetrics: false });
  // What is waited for a first piece is over at once, a download's own time never.
  const sleep = (ms: number, signal?: AbortSignal) =>
    ms < 60_000
      ? Promise.resolve()
      : new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
  const clock = { monotonic: () => 0, sleep };
  const limits = { perTenantMax: 1 };
  const downloads = createDownloads({ closing: new AbortController().signal, clock, metrics, limits });
  const made = Promise.withResolvers<string>();
  let toldToEnd = false;
  const serve = () =>
    downloads.serve(
      new ServerResponse(new IncomingMessage(new Socket())),
      {
        tenantId: 'tnt_a' as TenantId,
        headers: {},
        async *pieces(isOver) {
          const text = await made.promise;
          toldToEnd = isOver();
          yield text;
        },
      },
      {},
    );
  await expect(serve()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  await expect(serve()).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' });
  expect(await metrics.read()).toContain('herald_downloads 1');
  made.resolve('late');
  await until(async () => (await metrics.read()).includes('herald_downloads 0'), { what: 'its place again' });
  expect(toldToEnd).toBe(true);
});
