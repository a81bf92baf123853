// A service that does what it is there for, on each channel that needs nothing else, with a retry and a timer: every query of the board has something to show.

import { scrape, sumOf } from './scrape.ts';
import type { Failure } from './stage.ts';
import { scraped } from './stage.ts';

export const doingWell: Failure = {
  what: 'all is well',
  fires: [],
  async run({ start, sink }) {
    const service = await start({ environment: { RETRY_DELAYS: '100ms' } });
    let asked = 0;
    const { url } = await sink((_, response) => void response.writeHead(asked++ % 2 === 0 ? 503 : 200).end());
    const gone = await sink((_, response) => void response.writeHead(410).end());
    const before = await scrape(service);
    await service.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x' });
    for (const recipient of [url, gone.url]) await service.notify({ channel: 'WEBHOOK', recipient, body: 'x' });
    const failing = await scraped(
      service,
      (page) =>
        sumOf(page, 'herald_attempts_total', 'outcome="delivered"') === 2 &&
        sumOf(page, 'herald_attempts_total', 'outcome="failed"') === 1 &&
        sumOf(page, 'herald_timers_fired_total') === 1 &&
        sumOf(page, 'herald_projector_lag') === 0,
      'three notifications to end',
    );
    return { before, failing };
  },
};
