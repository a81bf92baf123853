// A fold timed from the outside, by pages of metrics.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, it } from '@jest/globals';

import { timeFold } from '../../bench/folding.ts';
import type { Service } from '../../bench/service.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import { searchReadModel } from '../../src/projections/search/index.ts';

const records = notificationsReadModel.definition.name;
const search = searchReadModel.definition.name;

function page(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, events]) => `herald_folded_events_total{read_model="${name}"} ${events}`)
    .join('\n');
}

it('begins where nothing was folded yet, and not again at a page on which the projectors have not told their counts', async () => {
  const pages = [{}, { [records]: 1 }, {}, { [records]: 2 }, {}, { [records]: 2, [search]: 1 }].map(page);
  const server = createServer((_, response) => response.end(pages.length > 1 ? pages.shift() : pages[0])).listen(0);
  await once(server, 'listening');
  try {
    const operationsUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const service: Pick<Service, 'operationsUrl' | 'pid'> = { operationsUrl, pid: process.pid };
    const wanted = { foldedEvents: { [records]: 2, [search]: 1 }, notifications: 1 };
    const { recordsMs, searchMs } = await timeFold(service, wanted, () => undefined);
    // Looks are 100 ms apart: the records are there at the third after the first, the search two later.
    expect(recordsMs).toBeGreaterThanOrEqual(150);
    expect(searchMs - recordsMs).toBeGreaterThanOrEqual(150);
  } finally {
    server.close();
  }
});
